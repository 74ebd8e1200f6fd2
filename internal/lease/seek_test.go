package lease_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
)

// C6: a claim is made again every heartbeat, until a majority has promised; so many denials that
// none is left end it, and give back what was promised. The next claim is a higher one: a RELEASE
// may still be under way.
func TestAnEpochIsGivenUp(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	p := s.seeking()
	again, ok := sent(s.after(101*ms), lease.Vote, "P1")
	if !ok || again.Epoch != p.Epoch {
		t.Errorf("after a heartbeat it claims %s", again.Epoch)
	}
	for _, q := range []string{"P1", "P2"} {
		v := s.answer(again, false)
		v.Highest = p.Epoch
		s.response(q, v)
	}
	if released := s.sent(lease.Release, "P1"); released.Epoch != p.Epoch {
		t.Errorf("it releases %s", released.Epoch)
	}
	s.claimAgain(p.Epoch)
}

func (s *solo) claimAgain(above lease.Epoch) {
	s.t.Helper()
	for range 100 {
		all := s.after(50 * ms)
		if p, ok := sent(all, lease.PreVote, "P1"); ok {
			s.response("P1", s.answer(p, true))
		}
		if p, ok := sent(s.out.Requests, lease.Vote, "P1"); ok {
			if p.Epoch <= above {
				s.t.Errorf("it claims %s after %s", p.Epoch, above)
			}
			return
		}
	}
	s.t.Error("it never claims again")
}

// C6: who outranks all those that kept it from being elected asks again at once, the first time. All
// others wait for a random time, or they would keep each other from it for ever.
func TestWhoAsksAgainAtOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		rivals []string // for which P1 and P3 deny
		atOnce []bool   // at the first and at the second attempt
	}{
		{"it outranks them", []string{"P1", "P1"}, []bool{true, false}},
		{"it does not", []string{"P3", "P3"}, []bool{false, false}},
		{"it does not outrank one of them", []string{"P1", "P3"}, []bool{false, false}},
		{"it outranks only the one that was heard of last", []string{"P3", "P1"}, []bool{false, false}},
		{"they are bound to nobody", []string{"", ""}, []bool{false, false}},
		{"they are bound to it", []string{"P2", "P2"}, []bool{false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSolo(t, rosterOf(3), "P2")
			s.do(lease.Event{Type: lease.Nominated, Process: "P2"})
			ask, asked := s.sent(lease.PreVote, "P1"), true
			for attempt, want := range c.atOnce {
				for !asked {
					ask, asked = sent(s.after(10*ms), lease.PreVote, "P1")
				}
				s.response("P1", s.answer(ask, true))
				p := s.sent(lease.Vote, "P1")
				for i, q := range []string{"P1", "P3"} {
					v := s.answer(p, false)
					v.Highest, v.Holder, v.Remaining = p.Epoch, c.rivals[i], lease1
					s.response(q, v)
				}
				s.sent(lease.Release, "P1")
				if ask, asked = sent(s.out.Requests, lease.PreVote, "P1"); asked != want {
					t.Errorf("attempt %d: it asks again at once: %t", attempt+1, asked)
				}
			}
		})
	}
}

// The same for one that has not promised itself: nothing but its own count keeps it from claiming
// an epoch twice.
func TestNoEpochIsSoughtTwice(t *testing.T) {
	r := rosterOf(4)
	r.Members[3].Voter = false
	s := newSolo(t, r, "P4")
	s.do(lease.Event{Type: lease.Nominated, Process: "P4"})
	p := s.sent(lease.PreVote, "P1")
	s.response("P1", s.answer(p, true))
	s.response("P2", s.answer(p, true))
	claim := s.sent(lease.Vote, "P1")
	s.response("P1", s.answer(claim, true))
	s.response("P2", s.answer(claim, false))
	s.response("P3", s.answer(claim, false))
	s.sent(lease.Release, "P1")
	for range 100 {
		all := s.after(50 * ms)
		if p, ok := sent(all, lease.PreVote, "P1"); ok {
			s.response("P2", s.answer(p, true))
			s.response("P3", s.answer(p, true))
		}
		if again, ok := sent(s.out.Requests, lease.Vote, "P1"); ok {
			if again.Epoch <= claim.Epoch {
				t.Errorf("it claims %s after %s", again.Epoch, claim.Epoch)
			}
			return
		}
	}
	t.Error("it never claims again")
}

// C6, found: two candidates of three voters, the third of which is gone, each promise themselves
// the same ballot, and give it up after a lease. The RELEASE of the one does not make the other one
// ask at once: they would collide again, for ever.
func TestARivalsReleaseDoesNotEndThePause(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P3")
	s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
	ask := s.sent(lease.PreVote, "P1")
	s.response("P1", s.answer(ask, false))
	s.response("P2", s.answer(ask, false)) // from now on it waits for promises to run out (C4)
	for granted := false; !granted; {
		if p, ok := sent(s.after(50*ms), lease.PreVote, "P1"); ok {
			s.response("P1", s.answer(p, true))
			_, granted = sent(s.out.Requests, lease.Vote, "P1")
		}
	}
	given := false
	for range 100 {
		if _, given = sent(s.after(50*ms), lease.Release, "P1"); given {
			break
		}
	}
	if !given {
		t.Fatal("it never gives up")
	}
	out := s.do(lease.Event{
		Type: lease.Requested,
		From: incarnationOf(s.roster, "P2"),
		Request: lease.Request{
			Kind:  lease.Release,
			Group: s.roster.Group,
			Epoch: epoch(1, 1),
		},
	})
	if p, ok := sent(out.Requests, lease.PreVote, "P1"); ok {
		t.Errorf("it asks in the same instant as its rival: %+v", p)
	}
	s.claimAgain(0)
}
