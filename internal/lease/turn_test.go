package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// lostIn returns a process of a group of twelve that follows P12.
func lostIn(t *testing.T, name string) *solo {
	t.Helper()
	s := newSolo(t, rosterOf(12), name)
	s.do(lease.Event{Type: lease.Nominated, Process: "P12"})
	s.askBy("P12", held(epoch(1, 1)))
	return s
}

// asksAfter returns how long it takes until a process asks the voters; -1 if that is longer than
// the time given.
func (s *solo) asksAfter(most time.Duration) time.Duration {
	begun := s.now
	if _, asks := sent(s.out.Requests, lease.PreVote, "P2"); asks {
		return 0
	}
	for s.now < begun+most {
		if _, asks := sent(s.after(ms), lease.PreVote, "P2"); asks {
			return s.now - begun
		}
	}
	return -1
}

// evidence is what makes a process suspect P12.
var evidence = map[string]func(*solo){
	"a closed link": func(s *solo) {
		s.do(lease.Event{Type: lease.LinkDown, Process: "P12"})
	},
	"a suspicion": func(s *solo) {
		s.do(lease.Event{Type: lease.Suspected, Process: "P12"})
	},
	"both": func(s *solo) {
		s.do(lease.Event{Type: lease.LinkDown, Process: "P12"})
		s.do(lease.Event{Type: lease.Suspected, Process: "P12"})
	},
	"silence": func(s *solo) { s.after(s.T + 200*ms) },
}

// C8: the highest ask at once, the others one after the other.
func TestProcessesAskInTurn(t *testing.T) {
	for what, comes := range evidence {
		for name, turn := range map[string]time.Duration{
			"P11": 0,
			"P4":  0,
			"P3":  10 * ms,
			"P1":  30 * ms,
		} {
			s := lostIn(t, name)
			comes(s)
			if wait := s.Next() - s.now; turn > 0 && wait != turn {
				t.Errorf("%s: %s looks at its clock after %v, want %v", what, name, wait, turn)
			}
			if took := s.asksAfter(time.Second); took < turn || took > turn+2*ms {
				t.Errorf("%s: %s asks after %v, want %v", what, name, took, turn)
			}
		}
	}
}

// C8: where some have turns, the nine highest, of whom one may be the leaseholder, keep links to the
// voters before they have anything to ask.
func TestWhoAsksFirstHasLinks(t *testing.T) {
	for n, reach := range map[int]map[string]lease.Reach{
		9:  {"P9": lease.Nobody, "P1": lease.Nobody},
		10: {"P10": lease.Voters, "P2": lease.Voters, "P1": lease.Nobody},
	} {
		for name, want := range reach {
			if got := newSolo(t, rosterOf(n), name).Reach(); got != want {
				t.Errorf("%s of %d has reach %v, want %v", name, n, got, want)
			}
		}
	}
}

// C8: a process whose turn has not come leaves it to the one that is nominated, for L and T, and
// names nobody meanwhile (F6).
func TestTheNominatedIsAboutToFollow(t *testing.T) {
	const turn = 30 * ms
	for _, c := range []struct {
		name string
		then func(*solo)
		want time.Duration // until it asks; 0: it never does
	}{
		{"it takes the lease", func(s *solo) { s.after(lease1) }, 0}, // P12's has run out by then
		{"it does not", func(*solo) {}, lease1 + 195*ms + turn},
		{
			"another one is nominated",
			func(s *solo) {
				s.after(500 * ms)
				s.do(lease.Event{Type: lease.Nominated})
				s.do(lease.Event{Type: lease.Nominated, Process: "P10"})
			},
			lease1 - 305*ms + turn,
		},
		{
			"the old leaseholder is back",
			func(s *solo) {
				s.askBy("P12", held(epoch(1, 1)))
				s.do(lease.Event{Type: lease.LinkDown, Process: "P12"})
			},
			turn,
		},
	} {
		s := lostIn(t, "P1")
		s.do(lease.Event{Type: lease.LinkDown, Process: "P12"})
		s.after(5 * ms)
		if holder, _, _ := s.Following(); holder != "P12" {
			t.Errorf("%s: it follows %q, and nobody is nominated", c.name, holder)
		}
		s.do(lease.Event{Type: lease.Nominated, Process: "P11"})
		if holder, _, _ := s.Following(); holder != "" {
			t.Errorf("%s: it follows %q, and P11 is nominated", c.name, holder)
		}
		c.then(s)
		took := time.Duration(-1)
		if c.want > 0 {
			took = s.asksAfter(3 * time.Second)
		} else {
			for range 30 { // as long as it hears that one
				s.askBy("P11", held(epoch(1, 2)))
				took = max(took, s.asksAfter(100*ms))
			}
		}
		if c.want == 0 && took >= 0 || c.want > 0 && (took < c.want-ms || took > c.want+2*ms) {
			t.Errorf("%s: it asks after %v, want %v", c.name, took, c.want)
		}
	}
}

// C8: it asks in its turn if what the algorithm names is nothing to wait for.
func TestNobodyIsAboutToFollow(t *testing.T) {
	for name, named := range map[string]string{
		"the process itself":   "P1",
		"the lost leaseholder": "P12",
		"nobody":               "",
	} {
		s := newSolo(t, rosterOf(12), "P1")
		s.askBy("P12", held(epoch(1, 1)))
		s.do(lease.Event{Type: lease.LinkDown, Process: "P12"})
		s.do(lease.Event{Type: lease.Nominated, Process: named})
		if s.after(31 * ms); s.Reach() != lease.Voters {
			t.Errorf("%s is named, and it does not ask", name)
		}
		if holder, _, _ := s.Following(); holder != "P12" {
			t.Errorf("%s is named, and it follows %q", name, holder)
		}
	}
}

// C8: a process whose turn has not come leaves the question to a higher one that asks.
func TestAHigherProcessHasAsked(t *testing.T) {
	for by, want := range map[string]time.Duration{
		"P11": lease1 + 195*ms + 10*ms,
		"P4":  lease1 + 195*ms + 10*ms,
		"P1":  5 * ms,
	} {
		s := lostIn(t, "P3")
		s.do(lease.Event{Type: lease.LinkDown, Process: "P12"})
		s.after(5 * ms)
		if v := s.askBy(by, lease.Request{Kind: lease.PreVote, Epoch: epoch(1, 0)}); v.Heard {
			t.Errorf("it says that it hears the leaseholder")
		}
		if took := s.asksAfter(3 * time.Second); took < want-ms || took > want+2*ms {
			t.Errorf("%s has asked, and P3 asks after %v, want %v", by, took, want)
		}
		if holder, _, _ := s.Following(); holder != "P12" {
			t.Errorf("it follows %q", holder)
		}
	}
}

// A process that hears the leaseholder again, because T has become longer, does not look at its
// clock all the time.
func TestTheTurnIsForgotten(t *testing.T) {
	s := lostIn(t, "P1")
	s.after(s.T + 201*ms)
	s.T *= 2
	s.do(lease.Event{Type: lease.Tick})
	if wait := s.Next() - s.now; wait < 100*ms {
		t.Errorf("it looks at its clock again after %v", wait)
	}
}
