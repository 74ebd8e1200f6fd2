package scenario

import (
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
)

// Change gives every live process a new roster, and later incarnations too.
func (g *Group) Change(roster []election.Process) {
	g.config.Roster = roster
	g.Tell(election.Event{Type: election.Change, Roster: roster})
}

// Partition cuts the network: messages between the two sides are lost, and both sides see the links
// closed.
func (g *Group) Partition(a, b []string) {
	g.cut = func(from, to string) bool { return slices.Contains(a, from) != slices.Contains(a, to) }
	for _, p := range a {
		for _, q := range b {
			g.Do(p, election.Event{Type: election.PeerDown, Process: q})
			g.Do(q, election.Event{Type: election.PeerDown, Process: p})
		}
	}
}

// Heal ends all cuts; every link between live processes opens, those to dead ones are seen closed.
func (g *Group) Heal() {
	g.cut = nil
	for _, p := range g.config.Roster {
		for _, q := range g.config.Roster {
			if p.Name == q.Name {
				continue
			}
			e := election.Event{Type: election.PeerUp, Process: q.Name}
			if g.Machine(q.Name) == nil {
				e.Type = election.PeerDown
			}
			g.Do(p.Name, e)
		}
	}
}
