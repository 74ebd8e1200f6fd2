package node_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// A process whose peers have all ended says so of each that it has tried to reach. Without a
// majority it elects no successor for the coordinator, and says that the coordinator has ended all
// the same.
func TestTheLastOneShowsTheOthersAsCrashed(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		for _, n := range []int{3, 5} {
			for _, guarded := range []bool{true, false} {
				for _, silent := range []bool{false, true} {
					name := fmt.Sprintf("%s of %d, guarded %t, silent %t", algorithm, n, guarded, silent)
					t.Run(name, func(t *testing.T) { survive(t, algorithm, n, guarded, silent) })
				}
			}
		}
	}
}

// survive kills all but P1, the coordinator first, or has them stand still.
func survive(t *testing.T, algorithm string, n int, guarded, silent bool) {
	t.Helper()
	r := newRoster(guarded)
	r.Algorithm, r.Members = algorithm, voters(n, "P%d")
	p := start(t, "P1", r)
	highest := fmt.Sprintf("P%d", n)
	linked := []string{}
	relink := func(event node.EventType) {
		for _, name := range p.links {
			if !slices.Contains(linked, name) {
				linked = append(linked, name)
				p.step(node.Event{Type: event, From: name})
			}
		}
		linked = slices.DeleteFunc(linked,
			func(name string) bool { return !slices.Contains(p.links, name) })
	}
	relink(node.LinkUp)
	if guarded {
		p.request(highest, lease.Renew, 1)
	} else {
		p.receive(highest, electionMessage(election.Coordinator, highest))
	}
	relink(node.LinkUp)
	if !silent {
		for i := n; i > 1; i-- {
			if name := fmt.Sprintf("P%d", i); slices.Contains(linked, name) {
				p.step(node.Event{Type: node.LinkDown, From: name})
			}
		}
	}
	for end := p.now + 10*time.Second; p.now < end; {
		p.now = max(p.next, p.now+ms)
		p.step(node.Event{Type: node.Tick})
		relink(node.LinkDown)
	}
	for _, e := range p.node.View().Table {
		known := e.Name == highest || !silent && slices.Contains(p.links, e.Name)
		if e.Name != "P1" && known && e.Status != election.Crashed {
			t.Errorf("%s is %s; links to %v, table %v", e.Name, e.Status, p.links, p.node.View().Table)
		}
	}
}
