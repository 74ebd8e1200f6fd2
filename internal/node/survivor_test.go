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

// A process whose peers are all gone says so of each that it has tried to reach. Without a majority
// it elects no successor for the coordinator, and says so of the coordinator all the same. Only
// those whose links were closed or refused are known to have ended.
func TestTheLastOneShowsTheOthersAsCrashed(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		for _, n := range []int{3, 5} {
			for _, guarded := range []bool{true, false} {
				for gone, want := range map[string]election.Status{
					"closed": election.Crashed, "unreachable": node.NotAnswering, "silent": node.NotAnswering,
				} {
					name := fmt.Sprintf("%s of %d, guarded %t, %s", algorithm, n, guarded, gone)
					t.Run(name, func(t *testing.T) { survive(t, algorithm, n, guarded, gone, want) })
				}
			}
		}
	}
}

// survive has all but P1 end, the coordinator first, or vanish, or stand still.
func survive(t *testing.T, algorithm string, n int, guarded bool, gone string, want election.Status) {
	t.Helper()
	r := newRoster(guarded)
	r.Algorithm, r.Members = algorithm, voters(n, "P%d")
	p := start(t, "P1", r)
	highest := fmt.Sprintf("P%d", n)
	linked := []string{}
	down := node.Event{Type: node.LinkDown, Unreachable: gone != "closed"}
	relink := func(event node.Event) {
		for _, name := range p.links {
			if !slices.Contains(linked, name) {
				linked = append(linked, name)
				event.From = name
				p.step(event)
			}
		}
		linked = slices.DeleteFunc(linked,
			func(name string) bool { return !slices.Contains(p.links, name) })
	}
	relink(node.Event{Type: node.LinkUp})
	if guarded {
		p.request(highest, lease.Renew, 1)
	} else {
		p.receive(highest, electionMessage(election.Coordinator, highest))
	}
	relink(node.Event{Type: node.LinkUp})
	if gone != "silent" {
		for i := n; i > 1; i-- {
			if name := fmt.Sprintf("P%d", i); slices.Contains(linked, name) {
				down.From = name
				p.step(down)
			}
		}
	}
	for end := p.now + 10*time.Second; p.now < end; {
		p.now = max(p.next, p.now+ms)
		p.step(node.Event{Type: node.Tick})
		relink(down)
	}
	for _, e := range p.node.View().Table {
		known := e.Name == highest || gone != "silent" && slices.Contains(p.links, e.Name)
		if e.Name != "P1" && known && e.Status != want {
			t.Errorf("%s is %s; links to %v, table %v", e.Name, e.Status, p.links, p.node.View().Table)
		}
	}
}
