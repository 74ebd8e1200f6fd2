package lease_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// leading is P3 of five, which has held the lease for a second while the named ones answered its
// renewals.
func leading(t *testing.T, answer ...string) *solo {
	t.Helper()
	s := newSolo(t, rosterOf(5), "P3")
	s.do(lease.Event{Type: lease.Nominated, Process: "P3"})
	for _, k := range []lease.Kind{lease.PreVote, lease.Vote} {
		p := s.sent(k, "P1")
		s.response("P1", s.answer(p, true))
		s.response("P2", s.answer(p, true))
	}
	s.answered(time.Second, answer...)
	return s
}

// answered lets time pass, in which the named processes answer all renewals, as candidates.
func (s *solo) answered(d time.Duration, names ...string) {
	s.t.Helper()
	for end := s.now + d; s.now < end; {
		asked := s.after(s.roster.Heartbeat)
		for _, name := range names {
			p, ok := sent(asked, lease.Renew, name)
			if !ok {
				s.t.Fatalf("no renewal to %s", name)
			}
			s.response(name, s.answer(p, true))
		}
	}
}

// LH8: a leaseholder that steps down names the highest candidate that answers it as its heir.
func TestWhoIsTheHeir(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer []string
		then   func(*solo)
		heir   string
	}{
		{
			name:   "the highest of all, though nobody may take over from a living leaseholder",
			answer: []string{"P1", "P2", "P4", "P5"},
			heir:   "P5",
		},
		{
			name:   "the highest of those below",
			answer: []string{"P1", "P2"},
			heir:   "P2",
		},
		{
			name:   "not one that is no candidate",
			answer: []string{"P1", "P2", "P5"},
			then: func(s *solo) {
				p, _ := sent(s.after(s.roster.Heartbeat), lease.Renew, "P5")
				v := s.answer(p, true)
				v.Candidate = false
				s.response("P5", v)
			},
			heir: "P2",
		},
		{
			name:   "not one that has been silent for T and two heartbeats",
			answer: []string{"P1", "P2", "P5"},
			then:   func(s *solo) { s.answered(500*ms, "P1", "P2") },
			heir:   "P2",
		},
		{
			name:   "nobody, if a higher one may not have had the time to answer",
			answer: []string{"P1", "P2"},
			then: func(s *solo) {
				s.roster = next(s.roster, func(*lease.Roster) {})
				s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
				vote := s.sent(lease.Vote, "P1")
				s.response("P1", s.answer(vote, true))
				s.response("P2", s.answer(vote, true))
			},
		},
		{
			name:   "not one whose priority is 0 by now",
			answer: []string{"P1", "P2", "P5"},
			then: func(s *solo) {
				s.roster = next(s.roster, func(r *lease.Roster) { r.Members[4].Priority = 0 })
				s.do(lease.Event{Type: lease.RosterChanged, Roster: s.roster})
			},
			heir: "P2",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := leading(t, c.answer...)
			if c.then != nil {
				c.then(s)
			}
			if !s.may() {
				t.Fatal("it does not hold the lease")
			}
			s.do(lease.Event{Type: lease.Withdrawn})
			if p := s.sent(lease.StepDown, "P1"); p.Heir != c.heir {
				t.Errorf("the heir is %q, want %q", p.Heir, c.heir)
			}
		})
	}
}

// LH8, PR5: one that was offered the lease, and could not take it over, is no heir for a while.
func TestWhoDeclinedIsNoHeir(t *testing.T) {
	s, offer := offering(t)
	v := s.answer(offer, false)
	s.response("P3", v)
	s.answered(500*ms, "P1", "P3")
	s.do(lease.Event{Type: lease.Withdrawn})
	if p := s.sent(lease.StepDown, "P1"); p.Heir != "P1" {
		t.Errorf("the heir is %q, want P1", p.Heir)
	}
}

// LH8: a hand-over takes some messages: the heir waits for the RELEASE, and nobody competes with
// it. P5 steps down because its app is unhealthy.
func TestTheHeirHoldsAtOnce(t *testing.T) {
	g := adaptive()
	for _, a := range g.actors {
		a.session = true
	}
	p5 := g.actor("P5")
	g.step(p5, lease.Event{Type: lease.Withdrawn})
	begun := g.now
	if took := g.takesOver(t); took > 10*ms {
		t.Errorf("somebody holds the lease after %v:\n%s", took, g.out.String())
	}
	if name, _ := g.holder(); name != "P4" {
		t.Errorf("%v later %q holds the lease:\n%s", g.now-begun, name, g.out.String())
	}
}
