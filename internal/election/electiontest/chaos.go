package electiontest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
)

// Change gives every live process a new roster, and later lives too.
func (g *Group) Change(roster []election.Process) {
	g.roster = roster
	g.Tell(election.Event{Type: election.Change, Roster: roster})
}

// Partition cuts the network: messages between the two sides are lost, and both sides see the links closed.
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
	for _, p := range g.roster {
		for _, q := range g.roster {
			if p.Name == q.Name {
				continue
			}
			e := election.Event{Type: election.PeerUp, Process: q.Name}
			if g.machines[q.Name] == nil {
				e.Type = election.PeerDown
			}
			g.Do(p.Name, e)
		}
	}
}

// Chaos does steps things at random: delivers from any link, loses, lets timers run out early or late, crashes, restarts,
// suspects falsely, closes links that work.
func (g *Group) Chaos(rng *rand.Rand, steps int) {
	g.Tell(election.Event{Type: election.Start})
	for range steps {
		p := g.roster[rng.IntN(len(g.roster))].Name
		q := g.roster[rng.IntN(len(g.roster))].Name
		switch n := rng.IntN(100); {
		case n < 55:
			g.deliverOne(rng)
		case n < 63:
			g.Expire()
		case n < 70 && len(g.flight) > 0:
			i := rng.IntN(len(g.flight))
			g.printf("lost: %s → %s %s", g.flight[i].from, g.flight[i].to, Describe(g.flight[i].msg))
			g.flight = slices.Delete(g.flight, i, i+1)
		case n < 75:
			g.Crash(p)
		case n < 83 && g.machines[p] == nil:
			_ = g.Recover(p) // the roster is valid
		case n < 90:
			g.printf("%s suspects", p)
			g.Suspect(p)
		case n < 96 && p != q:
			g.printf("%s loses its link to %s", p, q)
			g.Do(p, election.Event{Type: election.PeerDown, Process: q})
		case p != q && g.machines[q] != nil:
			g.printf("%s has a link to %s", p, q)
			g.Do(p, election.Event{Type: election.PeerUp, Process: q})
		}
	}
}

// deliverOne delivers the oldest message of a link chosen at random: links keep order, the network does not.
func (g *Group) deliverOne(rng *rand.Rand) {
	if len(g.flight) == 0 {
		return
	}
	l := g.flight[rng.IntN(len(g.flight))]
	i := slices.IndexFunc(g.flight, func(m letter) bool { return m.from == l.from && m.to == l.to && m.life == l.life })
	l = g.flight[i]
	g.flight = slices.Delete(g.flight, i, i+1)
	g.hand(l)
}

// Calm ends all faults: links are what they are, everything is delivered, and as a failure detector would, each process
// asks its coordinator, hears its view, and suspects one that is down. It returns the highest live process, or an error if
// the group does not come to rest.
func (g *Group) Calm() (highest string, err error) {
	g.printf("calm")
	g.Heal()
	for range 20 {
		if err := g.Run(30); err != nil {
			return "", err
		}
		if !g.detect() {
			return g.highest(), nil
		}
	}
	return "", fmt.Errorf("no rest after 20 rounds of detection")
}

// detect lets each process ask whom it watches, as internal/agent does, and reports whether that led to anything.
func (g *Group) detect() bool {
	busy := len(g.flight) > 0 || len(g.timers) > 0
	for _, p := range g.roster {
		m := g.machines[p.Name]
		if m == nil {
			continue
		}
		coordinator := m.State().Coordinator
		for _, name := range m.Watched() {
			asked, view := g.machines[name], ""
			if asked != nil {
				view = asked.State().Coordinator
			}
			if name == coordinator && view != coordinator {
				g.Suspect(p.Name)
			} else if asked != nil {
				g.Do(p.Name, election.Event{Type: election.Answered, Process: name, Message: election.Message{Process: view}})
			}
		}
		busy = busy || coordinator == "" || m.State().Coordinator != coordinator || len(g.flight) > 0
	}
	return busy
}

func (g *Group) highest() string {
	var best election.Process
	for _, p := range g.roster {
		if g.machines[p.Name] != nil && (best.Name == "" || p.Outranks(best)) {
			best = p
		}
	}
	return best.Name
}
