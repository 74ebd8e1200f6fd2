package scenario

import (
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
)

// strike lets a fault happen.
func (p *player) strike(f Fault) {
	switch f.Kind {
	case Crash:
		for _, name := range f.Processes {
			if i := p.places[name]; p.nodes[i].machine != nil {
				p.crash(i)
			}
		}
	case Recover:
		for _, name := range f.Processes {
			if i := p.places[name]; p.nodes[i].machine == nil {
				p.revive(i)
			}
		}
	case Cut:
		sides := make([]string, len(f.Sides))
		for i, side := range f.Sides {
			sides[i] = strings.Join(side, " ")
		}
		p.note(WasCut, -1, -1, strings.Join(sides, " | "))
		p.part(f.Sides)
	case Heal:
		p.note(Healed, -1, -1, "")
		p.part(nil)
	default:
		p.mishap(f)
	}
	p.lookAround(T)
}

func (p *player) crash(i int32) {
	p.kill(i)
	p.down[i], p.paused[i] = p.now, nil
	p.note(HasFailed, i, -1, "")
}

// revive starts a process anew. Those who know that it was gone learn that it is back.
func (p *player) revive(i int32) {
	if p.boot(i, election.Config{Algorithm: p.Algorithm, Roster: p.Processes}) != nil {
		return // cannot be: it was booted before
	}
	p.note(Recovered, i, -1, "")
	for q := range int32(len(p.nodes)) {
		p.told[p.pair(i, q)], p.asked[p.pair(i, q)] = false, false
		if p.told[p.pair(q, i)] && !p.cut[p.pair(q, i)] {
			p.linkUp(q, i)
		}
	}
	p.glance(i)
	p.step(i, election.Event{Type: election.Start})
	p.glance(i)
}

func (p *player) linkUp(i, peer int32) {
	p.told[p.pair(i, peer)] = false
	if p.nodes[i].machine != nil && p.nodes[peer].machine != nil {
		p.note(LinkUp, i, peer, "")
		p.step(i, election.Event{Type: election.PeerUp, Process: p.nodes[peer].name})
	}
}

// part cuts the network into sides, or heals it. Links that were cut and are not any more open at
// both ends.
func (p *player) part(sides [][]string) {
	p.since = p.now
	within := func(a, b string) bool {
		named := func(name string) bool { return slices.Contains(slices.Concat(sides...), name) }
		return !named(a) || !named(b) || slices.ContainsFunc(sides, func(side []string) bool {
			return slices.Contains(side, a) && slices.Contains(side, b)
		})
	}
	before := slices.Clone(p.cut)
	var healed [][2]int32
	for a := range int32(len(p.nodes)) {
		for b := range int32(len(p.nodes)) {
			p.cut[p.pair(a, b)] = a != b && !within(p.nodes[a].name, p.nodes[b].name)
			if (before[p.pair(a, b)] || before[p.pair(b, a)]) && !p.cut[p.pair(a, b)] {
				healed = append(healed, [2]int32{a, b}) // at both ends, also of a link that was cut one way
			}
		}
	}
	for _, pair := range healed {
		p.linkUp(pair[0], pair[1])
	}
}
