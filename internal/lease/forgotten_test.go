package lease_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
)

// ledBy has a process follow P1 of three, which then steps down without an heir.
func (s *solo) ledBy(e lease.Epoch) {
	s.t.Helper()
	s.askBy("P1", held(e))
	if holder, _, _ := s.Following(); holder != "P1" {
		s.t.Fatalf("it follows %q", holder)
	}
	s.askBy("P1", lease.Request{Kind: lease.StepDown, Epoch: e})
	s.askBy("P1", lease.Request{Kind: lease.Release, Epoch: e})
	s.do(lease.Event{Type: lease.Nominated})
}

// asked nominates a process, and has P1 grant what it asks: its VOTE is sent then.
func (s *solo) asked() lease.Request {
	s.t.Helper()
	s.do(lease.Event{Type: lease.Nominated, Process: s.config.Self.Name})
	asks := s.out.Requests
	for range 100 {
		if ask, ok := sent(asks, lease.PreVote, "P1"); ok {
			s.response("P1", s.answer(ask, true))
			return s.sent(lease.Vote, "P1")
		}
		asks = s.after(10 * ms)
	}
	s.t.Fatal("it asks for nothing")
	return lease.Request{}
}

// What went wrong before somebody led does not count in the next election.
func TestWhatIsForgottenWhenSomebodyLeads(t *testing.T) {
	splits := func(s *solo) (asksAtOnce bool) { // C6
		p := s.asked()
		for _, q := range []string{"P1", "P3"} {
			v := s.answer(p, false)
			v.Highest, v.Holder, v.Remaining = p.Epoch, "P1", lease1
			s.response(q, v)
		}
		_, asksAtOnce = sent(s.out.Requests, lease.PreVote, "P1")
		return asksAtOnce
	}
	for name, c := range map[string]struct{ before, after func(*solo) bool }{
		"C6: votes were split": {splits, splits},
		"C5: a pre-vote found no majority": {
			func(s *solo) bool {
				s.do(lease.Event{Type: lease.Nominated, Process: "P2"})
				s.after(s.roster.Timeout + ms)
				return s.Phase() == "NoMajority" && !s.Rests()
			},
			func(s *solo) bool {
				s.do(lease.Event{Type: lease.Nominated, Process: "P2"})
				s.after(s.roster.Timeout + ms)
				return s.Phase() == "NoMajority" && !s.Rests()
			},
		},
		"F6: voters did not answer": {
			func(s *solo) bool {
				s.do(lease.Event{Type: lease.Nominated, Process: "P2"})
				s.after(s.roster.Timeout + ms)
				return s.Phase() == "NoMajority"
			},
			func(s *solo) bool { return s.Phase() == "Electing" },
		},
		"C4: promises ran": {
			func(s *solo) bool {
				s.do(lease.Event{Type: lease.Nominated, Process: "P2"})
				ask := s.out.Requests
				s.deny(ask, "P1", lease1)
				s.deny(ask, "P3", lease1)
				return s.Phase() == "Waiting"
			},
			func(s *solo) bool { return s.Phase() == "Electing" },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSolo(t, rosterOf(3), "P2")
			if !c.before(s) {
				t.Fatal("it did not go wrong")
			}
			s.ledBy(epoch(1, 100))
			if !c.after(s) {
				t.Errorf("it still counts: it is %s, and rests: %t", s.Phase(), s.Rests())
			}
		})
	}
}

// C6, C8: a candidate does not wait for the vote of the leaseholder that a majority has lost, if
// somebody denies. Once another process has led, it waits for that one as for any other.
func TestTheLostLeaseholdersVoteIsNotWaitedFor(t *testing.T) {
	for name, since := range map[string]bool{"it led last": false, "P1 has led since": true} {
		t.Run(name, func(t *testing.T) {
			s := newSolo(t, rosterOf(5), "P2")
			s.askBy("P5", held(epoch(1, 1)))
			s.do(lease.Event{Type: lease.Nominated, Process: "P5"})
			s.do(lease.Event{Type: lease.LinkDown, Process: "P5"})
			asks, lost := s.after(5*ms), ""
			for _, q := range []string{"P1", "P3", "P4"} {
				if ask, ok := sent(asks, lease.PreVote, q); ok {
					lost += s.response(q, s.answer(ask, false)).Suspect
				}
			}
			if lost != "P5" {
				t.Fatalf("it has lost %q", lost)
			}
			s.asleep(lease1) // its own promise has run out
			if since {
				s.ledBy(epoch(1, 100))
			}
			s.do(lease.Event{Type: lease.Nominated, Process: "P2"})
			ask, ok := sent(s.out.Requests, lease.PreVote, "P1")
			for range 100 {
				if ok {
					break
				}
				ask, ok = sent(s.after(10*ms), lease.PreVote, "P1")
			}
			s.response("P1", s.answer(ask, true))
			s.response("P3", s.answer(ask, true))
			p := s.sent(lease.Vote, "P4")
			s.response("P1", s.answer(p, true))
			for _, q := range []string{"P3", "P4"} {
				v := s.answer(p, false)
				v.Highest, v.Holder, v.Remaining = p.Epoch, "P3", lease1
				s.response(q, v)
			}
			_, gives := sent(s.out.Requests, lease.Release, "P1")
			if gives == since {
				t.Errorf("it gives up at once: %t", gives)
			}
		})
	}
}
