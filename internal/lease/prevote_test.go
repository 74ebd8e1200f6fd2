package lease_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
)

// V9: a PREVOTE is answered as a claim would be, says who holds, and changes nothing.
func TestPreVote(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	before := s.State()
	preVote := lease.Request{Kind: lease.PreVote, Epoch: epoch(1, 0), Round: 4}
	if v := s.askBy("P3", preVote); !v.Granted || v.Holder != "" || v.Round != 4 ||
		v.Kind != lease.PreVote {
		t.Errorf("free: %+v", *v)
	}
	if s.State() != before || s.out.Version != 0 {
		t.Error("a PREVOTE has changed the voter")
	}
	s.askBy("P2", lease.Request{Kind: lease.Renew, Epoch: epoch(1, 3), Lease: lease1})
	s.asleep(lease1 / 4)
	if v := s.askBy("P3", preVote); v.Granted || v.Holder != "P2" || v.HolderEpoch != epoch(1, 3) ||
		v.Remaining != lease1*3/4 ||
		!v.Heard ||
		v.Highest != epoch(1, 3) ||
		v.Generation != 1 {
		t.Errorf("bound: %+v", *v)
	}
	if v := s.askBy("P2", preVote); !v.Granted {
		t.Errorf("the holder itself: %+v", *v)
	}
	s.asleep(lease1 / 4) // T and two heartbeats, 400 ms, since the claim
	if v := s.askBy("P3", preVote); v.Heard || v.Holder != "P2" || v.HolderEpoch != epoch(1, 3) ||
		v.Remaining != lease1/2 {
		t.Errorf("no longer heard, still bound: %+v", *v)
	}
	s.asleep(lease1)
	if v := s.askBy("P3", preVote); !v.Granted || v.Holder != "" {
		t.Errorf("run out: %+v", *v)
	}
}

// V9: a holder is heard while its claims come, its link is open and it has not stepped down; a
// claim that is not held says nothing.
func TestHears(t *testing.T) {
	held := lease.Request{Kind: lease.Renew, Epoch: epoch(1, 1), Lease: lease1}
	for _, c := range []struct {
		name  string
		do    func(*solo)
		heard bool
	}{
		{"held", func(s *solo) { s.askBy("P2", held) }, true},
		{"just in time", func(s *solo) { s.askBy("P2", held); s.asleep(400*ms - 1) }, true},
		{"too long ago", func(s *solo) { s.askBy("P2", held); s.asleep(400 * ms) }, false},
		{"not held", func(s *solo) { s.want(true, "P2", epoch(1, 1)) }, false},
		{"its link is closed",
			func(s *solo) {
				s.askBy("P2",
					held)
				s.do(lease.Event{Type: lease.LinkDown, Process: "P2"})
			}, false},
		{"another link is closed",
			func(s *solo) {
				s.askBy("P2",
					held)
				s.do(lease.Event{Type: lease.LinkDown, Process: "P3"})
			}, true},
		{"it has stepped down", func(s *solo) {
			s.askBy("P2", held)
			s.askBy("P2", lease.Request{Kind: lease.StepDown, Epoch: epoch(1, 1)})
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSolo(t, rosterOf(3), "P1")
			c.do(s)
			if v := s.askBy("P3",
				lease.Request{Kind: lease.PreVote, Epoch: epoch(1, 0)}); v.Heard != c.heard {
				t.Errorf("heard is %v", v.Heard)
			}
		})
	}
}
