package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// LH3: renewals go to every member, every heartbeat, whoever is nominated.
func TestRenewals(t *testing.T) {
	r := rosterOf(4)
	r.Members[3].Voter = false
	s := newSolo(t, r, "P3")
	e := s.holding()
	s.do(lease.Event{Type: lease.Nominated, Process: "P2"})
	all := s.after(500 * ms)
	for _, q := range []string{"P1", "P2", "P4"} {
		n := 0
		for _, a := range all {
			if a.To == q && a.Request.Kind == lease.Renew && a.Request.Epoch == e {
				n++
			}
		}
		if n != 5 {
			t.Errorf("%s gets %d renewals in five heartbeats", q, n)
		}
	}
}

// LH5: while the old epoch is renewed, the votes of its own roster count, also of a voter that the
// new one has no more.
func TestOldRostersVotersCountForTheOldEpoch(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.holding()
	s.asleep(100 * ms)
	removed := incarnationOf(s.roster, "P1")
	s.roster = next(s.roster, func(r *lease.Roster) { r.Members = r.Members[1:] })
	s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
	renewal := s.sent(lease.Renew, "P1")
	s.responseOf(
		removed,
		lease.Response{
			Kind:       lease.Renew,
			Epoch:      renewal.Epoch,
			Round:      renewal.Round,
			Granted:    true,
			Generation: 1,
		},
	)
	if believed := s.believed("P1"); believed != s.now+lease.Window(lease1) {
		t.Errorf("it relies on the promise until %v", believed-start)
	}
}

func (s *solo) believed(name string) (until time.Duration) {
	s.Believed(s.now, func(q lease.Member, at lease.Instant) {
		if q.Name == name {
			until = at
		}
	})
	return until
}

// LH5: a roster that has the holder no more, or with priority 0, makes it step down.
func TestLeaseholderLeavesTheRoster(t *testing.T) {
	for name, change := range map[string]func(*lease.Roster){
		"removed":    func(r *lease.Roster) { r.Members = r.Members[:2] },
		"priority 0": func(r *lease.Roster) { r.Members[2].Priority = 0 },
	} {
		s := newSolo(t, rosterOf(3), "P3")
		s.holding()
		s.roster = next(s.roster, change)
		out := s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
		if _, ok := sent(out.Requests, lease.StepDown, "P1"); !ok || s.may() || !out.Revoke {
			t.Errorf("%s: steppedDown %v, may act %v", name, ok, s.may())
		}
	}
}

// LH8: a candidate again, it may be nominated again; what it held it never takes up again.
func TestWithdrawnAndBack(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	e := s.holding()
	s.told = 0
	s.do(lease.Event{Type: lease.Withdrawn})
	if n := count(s.after(5*time.Second), lease.Vote); n > 0 {
		t.Errorf("it claims %d times while it is withdrawn", n)
	}
	s.do(lease.Event{Type: lease.Restored})
	s.claimAgain(e)
}

// LH1: responses may overtake each other. One to an older request does not shorten what a newer one
// has renewed.
func TestAnOlderResponseShortensNothing(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.holding()
	older, _ := sent(s.after(100*ms), lease.Renew, "P1")
	newer, _ := sent(s.after(100*ms), lease.Renew, "P1")
	if older.Round == 0 || newer.Round <= older.Round {
		t.Fatalf("rounds %d and %d", older.Round, newer.Round)
	}
	_, before, _ := s.Permission()
	s.response("P1", s.answer(newer, true))
	_, renewed, _ := s.Permission()
	s.response("P1", s.answer(older, true))
	if _, deadline, ok := s.Permission(); !ok || renewed <= before || deadline != renewed {
		t.Errorf("the deadline was %v, then %v, and is %v", before, renewed, deadline)
	}
}
