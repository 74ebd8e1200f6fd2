package scenario

import (
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim"
)

// The failure detector of a player. It looks when something may have changed, instead of asking all
// the time: what it finds is what a question every now and then would find.

func (p *player) lookLater(i int32, after Time) {
	t := p.queue.Push(p.now+after, sim.Looks)
	t.kind, t.to = glance, i
}

func (p *player) lookAround(after Time) {
	for i := range int32(len(p.nodes)) {
		p.lookLater(i, after)
	}
}

// glance tells a process of neighbours in the ring that are gone, and with Detect that its
// coordinator is gone or coordinates no more.
func (p *player) glance(i int32) {
	m := p.nodes[i].machine
	for range p.nodes { // each finding may bring another neighbour
		q, found := p.lostNeighbour(m, i)
		if !found {
			break
		}
		p.linkDown(i, q)
	}
	p.askDoubters(i)
	if p.Detect && p.now >= T {
		p.detect(i, false)
	}
}

// askDoubters has a process ask those of which its algorithm wants to know whom they follow.
func (p *player) askDoubters(i int32) {
	for _, name := range p.nodes[i].machine.Doubters() {
		if q := p.places[name]; !p.asked[p.pair(i, q)] {
			p.asked[p.pair(i, q)] = true
			t := p.queue.Push(p.now+2*Unit, sim.Looks)
			t.kind, t.to, t.from = answer, i, q
		}
	}
}

// answer tells a process whom another one follows that it has asked. It asks again when something
// has happened to one of them.
func (p *player) answer(i, q int32) {
	p.asked[p.pair(i, q)] = false
	if p.nodes[i].machine == nil || p.nodes[q].machine == nil || p.paused[q] != nil ||
		p.cut[p.pair(i, q)] || p.cut[p.pair(q, i)] {
		return
	}
	p.answered(i, q)
}

// answersAnew lets those ask a process that want to know whom it follows: it has just decided.
func (p *player) answersAnew(name string) {
	for i := range p.nodes {
		if m := p.nodes[i].machine; m != nil && slices.Contains(m.Doubters(), name) {
			p.askDoubters(int32(i))
		}
	}
}

// detect suspects a coordinator that is gone. A look also asks it whom it follows; between looks
// that would find what its announcements are about to change.
func (p *player) detect(i int32, ask bool) {
	s := p.nodes[i].machine.State()
	c, known := p.places[s.Coordinator]
	if !known || c == i || s.Electing {
		return
	}
	if p.gone(i, c) {
		p.linkDown(i, c)
	}
	if s = p.nodes[i].machine.State(); s.Electing || s.Coordinator != p.nodes[c].name {
		return
	}
	if p.told[p.pair(i, c)] || ask && p.nodes[c].machine != nil && p.denies(c) {
		p.suspect(i)
	}
}

func (p *player) linkDown(i, peer int32) {
	if p.told[p.pair(i, peer)] {
		return
	}
	p.told[p.pair(i, peer)] = true
	p.note(LinkDown, i, peer, "")
	p.step(i, election.Event{Type: election.PeerDown, Process: p.nodes[peer].name})
}

// denies reports whether a live process says that it does not coordinate.
func (p *player) denies(c int32) bool {
	s := p.nodes[c].machine.State()
	return s.Coordinator != p.nodes[c].name && !s.Electing
}

// gone reports whether a process has not answered another for T.
func (p *player) gone(i, q int32) bool {
	if p.nodes[q].machine == nil {
		return p.now-max(p.down[q], 0) >= T
	}
	if nap := p.paused[q]; nap != nil && p.now-nap.since >= T {
		return true
	}
	return (p.cut[p.pair(i, q)] || p.cut[p.pair(q, i)]) && p.now-p.since >= T
}

// lostNeighbour is a process that the ring depends on at this place, that is gone, and of which
// this process does not know it.
func (p *player) lostNeighbour(m *election.Machine, i int32) (int32, bool) {
	if !p.ring {
		return 0, false
	}
	for _, name := range m.Watched() {
		q := p.places[name]
		long := p.nodes[q].machine == nil && p.now-p.down[q] >= T
		if (long || p.gone(i, q)) && !p.told[p.pair(i, q)] {
			return q, true
		}
	}
	return 0, false
}
