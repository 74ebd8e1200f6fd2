package election_test

import (
	"fmt"
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim"
)

// The moves of an exploration: what can happen next in a world.

// each calls visit for every world that can follow.
func (x *exploration) each(w *world, visit func(*world)) {
	busy := w.unborn != 0
	for l := range w.links {
		if len(w.links[l]) == 0 {
			continue
		}
		busy = true
		x.transmit(w, l, visit)
	}
	for p, m := range w.machines {
		if m == nil {
			continue
		}
		if w.unborn>>p&1 != 0 {
			c := x.step(w, p, names[p]+" starts", election.Event{Type: election.Start})
			c.unborn &^= 1 << p
			visit(c)
		}
		if w.crashes > 0 {
			c := w.fork(names[p] + " crashes")
			c.machines[p], c.timers[p], c.crashes, c.digests[p], c.torn = nil, alarms{}, w.crashes-1, [2]uint64{}, w.torn&^x.of(p)
			c.unborn &^= 1 << p
			visit(c)
		}
		x.notice(w, p, visit)
	}
	unseen := x.unseen(w)
	if (!busy || w.early > 0) && (!unseen || w.hasty > 0) {
		x.expire(w, busy, unseen, visit)
	}
	if !busy && w.least() >= 0 {
		x.ask(w, func(next *world) {
			next.pass(1)
			visit(next)
		})
	}
}

// of returns the links of a process, as bits.
func (x *exploration) of(p int) (bits uint64) {
	n := len(x.roster)
	for q := range n {
		bits |= 1<<(p*n+q) | 1<<(q*n+p)
	}
	return bits
}

// unseen reports whether a process has yet to notice a crash or a broken link.
func (x *exploration) unseen(w *world) bool {
	for p, m := range w.machines {
		for q, other := range w.machines {
			if m != nil && other == nil && w.told>>(p*len(x.roster)+q)&1 == 0 {
				return true
			}
		}
	}
	return w.torn != 0
}

// transmit delivers the oldest message of a link, or loses it. A message to a process that is down,
// or has not started, is lost.
func (x *exploration) transmit(w *world, l int, visit func(*world)) {
	n := len(x.roster)
	p, q := l/n, l%n
	m := w.links[l][0]
	what := fmt.Sprintf("%s → %s %s", names[p], names[q], sim.Describe(&m))
	if w.machines[q] == nil {
		c := w.fork(what + ": it is down")
		c.links[l] = w.links[l][1:]
		visit(c)
		return
	}
	c := x.step(w, q, what, election.Event{Type: election.Receive, Process: names[p], Incarnation: 1, Message: m})
	c.links[l] = w.links[l][1:]
	visit(c)
	if w.losses > 0 {
		c := w.fork(what + ": lost")
		c.links[l], c.losses = w.links[l][1:], w.losses-1
		if w.machines[p] != nil {
			c.torn |= 1 << l
		}
		visit(c)
	}
}

// notice makes p notice that a process crashed, or that a link broke and is open again.
func (x *exploration) notice(w *world, p int, visit func(*world)) {
	n := len(x.roster)
	for q := range n {
		bit := uint64(1) << (p*n + q)
		switch {
		case q == p || w.unborn>>p&1 != 0:
		case w.machines[q] == nil && w.told&bit == 0:
			c := x.step(w, p, names[p]+" sees "+names[q]+" down", gone(w.machines[p], names[q])...)
			c.told |= bit
			c.torn &^= bit
			visit(c)
		case w.machines[q] != nil && w.torn&bit != 0:
			c := x.step(w, p, names[p]+" sees its link to "+names[q]+" broken and open again",
				election.Event{Type: election.PeerDown, Process: names[q]}, election.Event{Type: election.PeerUp, Process: names[q]})
			c.torn &^= bit
			visit(c)
		}
	}
}

// gone returns the events by which an agent tells its machine that a process is gone.
func gone(m *election.Machine, name string) []election.Event {
	events := []election.Event{{Type: election.PeerDown, Process: name}}
	if m.State().Coordinator == name {
		events = append(events, election.Event{Type: election.Suspect, Process: name})
	}
	return events
}

// expire makes timers expire. Time passes for the other timers meanwhile.
func (x *exploration) expire(w *world, busy, unseen bool, visit func(*world)) {
	least := w.least()
	for p := range w.timers {
		for i, alarm := range w.timers[p] {
			if alarm.runs && (alarm.left <= least+1 || busy) {
				x.runOut(w, p, i, busy, unseen, visit)
			}
		}
	}
}

func (x *exploration) runOut(w *world, p, i int, busy, unseen bool, visit func(*world)) {
	before := *w
	before.timers = slices.Clone(w.timers)
	before.timers[p][i].runs, before.timers[p][i].left = false, 0
	if !busy {
		before.pass(max(1, w.timers[p][i].left))
	}
	c := x.step(&before, p, fmt.Sprintf("%s waited in vain (%s)", names[p], timers[i]), election.Event{Type: election.Timeout, Timer: timers[i]})
	if c.patience--; busy {
		c.early--
	}
	if unseen {
		c.hasty--
	}
	visit(c)
}

// least returns the remaining time of the shortest running timer.
func (w *world) least() int8 {
	least := int8(127)
	for p := range w.timers {
		for _, alarm := range w.timers[p] {
			if alarm.runs {
				least = min(least, alarm.left)
			}
		}
	}
	return least
}

// pass lets time pass for all timers.
func (w *world) pass(units int8) {
	for p := range w.timers {
		for i := range w.timers[p] {
			if w.timers[p][i].runs {
				w.timers[p][i].left -= units
			}
		}
	}
}

// ask is the turn of the failure detectors. It takes time, so that it cannot go on for ever while a
// timer should expire.
func (x *exploration) ask(w *world, visit func(*world)) {
	for p, m := range w.machines {
		if m == nil {
			continue
		}
		coordinator := m.State().Coordinator
		watched := append(m.Watched(), m.Doubters()...)
		if coordinator != "" && coordinator != names[p] && !slices.Contains(watched, coordinator) {
			watched = append(watched, coordinator)
		}
		for _, name := range watched {
			q := slices.Index(names[:], name)
			switch other := w.machines[q]; {
			case other == nil:
				if name == coordinator && w.told&(1<<(p*len(x.roster)+q)) != 0 {
					visit(x.step(w, p, names[p]+" suspects "+name, election.Event{Type: election.Suspect, Process: name}))
				}
			case name == coordinator && other.State().Coordinator == name:
			case name == coordinator:
				visit(x.step(w, p, names[p]+" hears "+name+" deny", election.Event{Type: election.Suspect, Process: name}))
			default:
				answer := election.Message{Process: other.State().Coordinator}
				c := x.step(w, p, fmt.Sprintf("%s hears that %s follows %q", names[p], name, answer.Process),
					election.Event{Type: election.Answered, Process: name, Message: answer})
				if c.digests[p] != w.digests[p] {
					visit(c)
				}
			}
		}
	}
}
