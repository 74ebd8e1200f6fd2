package lease_test

import (
	"fmt"
	"slices"

	"github.com/podesta-dev/podesta/internal/lease"
)

// The moves of an exploration: what can happen next in a world.

// each calls visit for every world that can follow.
func (x *exploration) each(w *world, visit func(*world)) {
	for p := range procs {
		for q := range procs {
			x.transmit(w, p, q, visit)
		}
		if w.machines[p].Next() <= w.clocks[p] {
			x.move(w, p, members[p]+" ticks", visit, lease.Event{Type: lease.Tick})
		}
		x.writing(w, p, visit)
		x.mishaps(w, p, visit)
	}
	if w.budget.quanta > 0 && w.underWay() <= x.late {
		x.pass(w, visit)
	}
}

// move gives an event to a process in a copy of the world, and once more with a disk that fails, if
// it is needed.
func (x *exploration) move(
	w *world,
	p int,
	what string,
	visit func(*world),
	e lease.Event,
	before ...func(*world),
) {
	for _, fails := range []bool{false, true} {
		if fails && w.budget.faults == 0 {
			return
		}
		c := w.fork(what)
		for _, change := range before {
			change(c)
		}
		c.machines[p] = w.machines[p].Clone()
		wrote := x.tell(c, p, e, fails)
		if fails {
			if !wrote || x.slow {
				return
			}
			c.budget.faults--
			c.path.what += ", and its disk fails"
		}
		x.reach(c, visit)
	}
}

// reach visits a world, if it is one to be visited.
func (x *exploration) reach(c *world, visit func(*world)) {
	x.check(c)
	for p := range procs {
		for q := range procs {
			if len(c.requests[p][q]) > longest || len(c.responses[p][q]) > longest ||
				len(c.writes[p]) > longest {
				return
			}
		}
	}
	visit(c)
}

// transmit delivers the oldest letter of a queue, or loses it.
func (x *exploration) transmit(w *world, p, q int, visit func(*world)) {
	if queue := w.requests[p][q]; len(queue) > 0 {
		l := queue[0]
		what := fmt.Sprintf("%s → %s %s", members[p], members[q], describe(l.request))
		taken := func(c *world) { c.requests[p][q] = queue[1:] }
		x.move(
			w,
			q,
			what,
			visit,
			lease.Event{Type: lease.Requested, From: l.from, Request: l.request},
			taken,
		)
		x.lose(w, what, visit, taken)
	}
	if queue := w.responses[p][q]; len(queue) > 0 {
		l := queue[0]
		what := fmt.Sprintf(
			"%s ⇢ %s %s granted=%v",
			members[p],
			members[q],
			describe(lease.Request{Kind: l.response.Kind, Epoch: l.response.Epoch}),
			l.response.Granted,
		)
		taken := func(c *world) { c.responses[p][q] = queue[1:] }
		x.move(
			w,
			q,
			what,
			visit,
			lease.Event{Type: lease.Responded, From: l.from, Response: l.response},
			taken,
		)
		x.lose(w, what, visit, taken)
	}
}

func (x *exploration) lose(w *world, what string, visit func(*world), taken func(*world)) {
	if w.budget.losses == 0 {
		return
	}
	c := w.fork(what + ": lost")
	c.budget.losses--
	taken(c)
	x.reach(c, visit)
}

func describe(p lease.Request) string {
	s := fmt.Sprintf("%s %s", p.Kind, p.Epoch)
	if p.Heir != "" {
		s += " heir " + p.Heir
	}
	return s
}

// mishaps befall a process.
func (x *exploration) mishaps(w *world, p int, visit func(*world)) {
	if w.budget.restarts > 0 {
		c := w.fork(members[p] + " restarts")
		c.budget.restarts--
		x.restart(c, p, w.incarnations[p].StateID)
		x.reach(c, visit)
	}
	if w.budget.amnesias > 0 {
		c := w.fork(members[p] + " restarts without its state directory")
		c.budget.amnesias--
		c.disks[p], c.ghosts[p].amnesiac = lease.State{}, true
		x.restart(c, p, members[p]+"/1")
		x.reach(c, visit)
	}
	if w.budget.illnesses > 0 && w.nominated[p] == members[p] {
		x.move(
			w,
			p,
			members[p]+"'s app falls ill",
			visit,
			lease.Event{Type: lease.Withdrawn},
			func(c *world) { c.budget.illnesses-- },
		)
	}
	if w.budget.steps > 0 && w.rosters[p] < x.newest {
		next := w.rosters[p] + 1
		last := !slices.ContainsFunc(w.rosters[:], func(g int8) bool { return g < next })
		x.move(
			w,
			p,
			members[p]+" takes the next roster",
			visit,
			lease.Event{Type: lease.RosterChanged, Roster: x.rosters()[next]},
			func(c *world) {
				if c.rosters[p] = next; last {
					c.budget.steps--
				}
			},
		)
	}
}

// restart gives a process another incarnation. What its earlier incarnation has sent may still
// arrive.
func (x *exploration) restart(c *world, p int, stateID string) {
	c.incarnations[p].StateID = stateID
	c.incarnations[p].Number++
	// the same, had it been written: that is what a write and then a restart come to
	c.writes[p] = nil
	for q := range procs {
		c.requests[q][p], c.responses[q][p], c.responses[p][q] = nil, nil, nil
	}
	x.boot(c, p)
	if p > 0 {
		x.tell(c, p, lease.Event{Type: lease.Nominated, Process: members[p]}, false)
		c.nominated[p] = members[p]
	}
}

// underWay is how many letters are, and how many processes have yet to look at their clock.
func (w *world) underWay() (n int) {
	for p := range procs {
		for q := range procs {
			n += len(w.requests[p][q]) + len(w.responses[p][q])
		}
		if w.machines[p].Next() <= w.clocks[p] {
			n++
		}
	}
	return n
}

// pass lets a quantum of time pass.
func (x *exploration) pass(w *world, visit func(*world)) {
	for rates := range 1 << procs {
		c := w.fork("time passes")
		c.budget.quanta--
		for p := range procs {
			fast := x.fast[p]
			if x.drift {
				fast = rates>>p&1 != 0
			}
			advance := quantum * 9 / 10
			if fast {
				advance = quantum * 11 / 10
			}
			c.clocks[p] += advance
		}
		if x.drift {
			c.path.what += fmt.Sprintf(", fast: %03b", rates)
		}
		x.reach(c, visit)
		if !x.drift {
			return
		}
	}
}
