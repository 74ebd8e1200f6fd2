package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// C10: who stands back after a restart, and for how long.
func TestWhoStandsBack(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*lease.Roster)
		before func(*solo)
		until  time.Duration // after the restart; 0: it is a candidate at once
	}{
		{
			name:   "a leaseholder, for the longest lease",
			before: func(s *solo) { s.holding() },
			until:  lease1,
		},
		{
			name:   "one that was asking for votes",
			before: func(s *solo) { s.seeking() },
			until:  lease1,
		},
		{
			name:   "one that has released, of which its disk knows nothing",
			before: func(s *solo) { s.holding(); s.told = 0; s.do(lease.Event{Type: lease.Withdrawn}) },
			until:  lease1,
		},
		{
			name:   "not one whose voter is bound to another process",
			before: func(s *solo) { s.want(true, "P2", epoch(1, 1)) },
		},
		{
			name: "not one without a rival",
			change: func(r *lease.Roster) {
				r.Members[0].Priority, r.Members[1].Priority = 0, 0
			},
			before: func(s *solo) { s.holding() },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rosterOf(3)
			if c.change != nil {
				c.change(r)
			}
			s := newSolo(t, r, "P3")
			c.before(s)
			s.asleep(time.Minute)
			s.restart()
			if s.Rests() != (c.until > 0) {
				t.Fatalf("it rests: %t", s.Rests())
			}
			if c.until == 0 {
				return
			}
			s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
			if n := count(s.after(c.until-1), lease.PreVote); n > 0 || !s.Rests() {
				t.Errorf("it sends %d PREVOTE before %v", n, c.until)
			}
			if n := count(s.after(1), lease.PreVote); n == 0 || s.Rests() {
				t.Errorf("it sends %d PREVOTE after %v", n, c.until)
			}
		})
	}
}

// C10: a process that already holds the lease again, by the votes of others, does not stand back
// when a rival comes.
func TestALeaseholderDoesNotStandBack(t *testing.T) {
	r := rosterOf(3)
	r.Members[0].Priority, r.Members[1].Priority = 0, 0
	s := newSolo(t, r, "P3")
	s.holding()
	s.restart()
	s.elected()
	if !s.may() {
		t.Fatal("it does not hold the lease")
	}
	s.roster = next(r, func(r *lease.Roster) { r.Members[1].Priority = 2 })
	s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
	if s.Rests() || !s.may() {
		t.Errorf("it rests: %t, it holds the lease: %t", s.Rests(), s.may())
	}
}
