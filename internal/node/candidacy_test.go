package node_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/node"
)

// why checks why a process is no candidate, as its view says.
func (p *process) why(want node.NotCandidate) {
	p.t.Helper()
	if got := p.node.View().NotCandidate; got != want {
		p.t.Errorf("it is no candidate because %q, want %q", got, want)
	}
}

// The view says why a process is no candidate; of several reasons, the one that lasts the longest.
func TestWhyItIsNoCandidate(t *testing.T) {
	for _, guarded := range []bool{false, true} {
		r := newRoster(guarded)
		p := start(t, "P3", r)
		p.why("")
		p.step(node.Event{Type: node.Unhealthy})
		p.why(node.AppUnhealthy)
		p.did()
		p.step(node.Event{Type: node.Told, Until: p.now, Deserted: true})
		p.why(node.AppUnhealthy)
		p.step(node.Event{Type: node.Healthy})
		p.why(node.NoSession)
		if did := p.did(); did != "" {
			t.Errorf("only the reason has changed, and it did: %s", did)
		}
		r = edited(r, func(r *node.Roster) { r.Members[2].Priority = 0 })
		p.step(node.Event{Type: node.RosterReceived, Roster: r})
		p.why(node.HasPriorityZero)
		p.step(node.Event{Type: node.Told, Until: p.now})
		p.why(node.HasPriorityZero)
		r = edited(r, func(r *node.Roster) { r.Members[2].Priority = 3 })
		p.step(node.Event{Type: node.RosterReceived, Roster: r})
		p.why("")
		p.step(node.Event{Type: node.Leave})
		p.why(node.IsLeaving)
	}
}

// A process that leaves stays withdrawn, whatever becomes of its app meanwhile: nobody is to elect
// one that is about to end.
func TestWhoLeavesIsNoCandidateAgain(t *testing.T) {
	for _, guarded := range []bool{false, true} {
		p := start(t, "P3", newRoster(guarded))
		p.step(node.Event{Type: node.Unhealthy})
		p.step(node.Event{Type: node.Leave})
		p.did()
		p.step(node.Event{Type: node.Healthy})
		if did := p.did(); did != "" || !p.node.View().Withdrawn {
			t.Errorf("Guarded %v: its app is healthy again, and it shows %+v and did: %s", guarded,
				p.node.View(), did)
		}
	}
}

// C5: a process that rests says so while it does, unless its app is unhealthy.
func TestItSaysThatItRests(t *testing.T) {
	p := start(t, "P3", newRoster(true))
	p.until("it rests", func() bool { return p.node.Lease().Rests() })
	p.why(node.IsResting)
	p.step(node.Event{Type: node.Unhealthy})
	p.why(node.AppUnhealthy)
	p.step(node.Event{Type: node.Healthy})
	p.why(node.IsResting)
	p.until("it has rested", func() bool { return !p.node.Lease().Rests() })
	p.why("")
}
