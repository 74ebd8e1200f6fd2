package lease_test

import (
	"fmt"
	"hash/maphash"
	"slices"
	"time"

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
		x.mishaps(w, p, visit)
	}
	if w.budget.quanta > 0 && w.underWay() <= x.late {
		x.pass(w, visit)
	}
}

// move gives an event to a process in a copy of the world, and once more with a disk that fails, if it is needed.
func (x *exploration) move(w *world, p int, what string, visit func(*world), e lease.Event, before ...func(*world)) {
	for _, fails := range []bool{false, true} {
		if fails && w.budget.faults == 0 {
			return
		}
		c := w.fork(what)
		for _, change := range before {
			change(c)
		}
		c.machines[p] = w.machines[p].Clone()
		synced := x.tell(c, p, e, fails)
		if fails {
			if !synced {
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
			if len(c.requests[p][q]) > longest || len(c.responses[p][q]) > longest {
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
		x.move(w, q, what, visit, lease.Event{Type: lease.Requested, From: l.from, Request: l.request}, taken)
		x.lose(w, what, visit, taken)
	}
	if queue := w.responses[p][q]; len(queue) > 0 {
		l := queue[0]
		what := fmt.Sprintf("%s ⇢ %s %s granted=%v", members[p], members[q], describe(lease.Request{Kind: l.response.Kind, Epoch: l.response.Epoch}),
			l.response.Granted)
		taken := func(c *world) { c.responses[p][q] = queue[1:] }
		x.move(w, q, what, visit, lease.Event{Type: lease.Responded, From: l.from, Response: l.response}, taken)
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
	if p.Held {
		s += " held"
	}
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
		x.restart(c, p, w.lives[p].StateID)
		x.reach(c, visit)
	}
	if w.budget.amnesias > 0 {
		c := w.fork(members[p] + " restarts without its memory")
		c.budget.amnesias--
		c.disks[p], c.ghosts[p].amnesiac = lease.State{}, true
		x.restart(c, p, members[p]+"/1")
		x.reach(c, visit)
	}
	if w.budget.illnesses > 0 && w.nominated[p] == members[p] {
		x.move(w, p, members[p]+"'s app falls ill", visit, lease.Event{Type: lease.Withdrawn}, func(c *world) { c.budget.illnesses-- })
	}
	if w.budget.steps > 0 && w.rosters[p] < x.newest {
		next := w.rosters[p] + 1
		last := !slices.ContainsFunc(w.rosters[:], func(g int8) bool { return g < next })
		x.move(w, p, members[p]+" takes the next roster", visit, lease.Event{Type: lease.Enrolled, Roster: group[next]}, func(c *world) {
			if c.rosters[p] = next; last {
				c.budget.steps--
			}
		})
	}
}

// restart gives a process another life. What its earlier life has sent may still arrive.
func (x *exploration) restart(c *world, p int, memory string) {
	c.lives[p].StateID = memory
	c.lives[p].Number++
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

// tell gives an event to a machine of a world of its own, and carries out what it says. It reports whether anything had to be
// synced; with a disk that fails it was not.
func (x *exploration) tell(w *world, p int, e lease.Event, fails bool) (synced bool) {
	x.steps++
	m := w.machines[p]
	e.Now, e.T = w.read(p), shortT
	own := w.own(p)
	out := *m.Step(e)
	stopped := out.Stopped
	switch {
	case out.Sync && fails:
		m.Unsynced()
		synced = true
	default:
		if synced = out.Sync; synced {
			w.disks[p] = m.State()
		}
		x.carryOut(w, p, e, out, own)
	}
	if stopped && !fails {
		x.tell(w, p, lease.Event{Type: lease.Told, Until: w.told[p]}, false)
	}
	if (!fails || !synced) && out.Appoint != "" && w.nominated[p] != out.Appoint {
		w.nominated[p] = out.Appoint
		x.tell(w, p, lease.Event{Type: lease.Nominated, Process: out.Appoint}, false)
	}
	if !fails && out.Doubt != "" && w.nominated[p] == out.Doubt && p > 0 {
		w.nominated[p] = members[p]
		x.tell(w, p, lease.Event{Type: lease.Nominated, Process: members[p]}, false)
	}
	if deadline := w.permitted(p); deadline > w.clocks[p] {
		w.told[p] = max(w.told[p], deadline)
	}
	x.digest(w, p)
	return synced
}

func (w *world) permitted(p int) time.Duration {
	if _, deadline, ok := w.machines[p].Permission(); ok {
		return deadline
	}
	return 0
}

// carryOut answers, and sends.
func (x *exploration) carryOut(w *world, p int, e lease.Event, out lease.Output, own promiseToSelf) {
	if e.Type == lease.Requested && e.Request.Kind == lease.Release {
		w.free(p, e.From, e.Request.Epoch)
	}
	for _, a := range out.Requests {
		if a.Request.Kind == lease.Release { // which it has told itself, too, before anything else
			x.release(w, p, a.Request.Epoch)
			w.free(p, w.lives[p], a.Request.Epoch)
		}
	}
	if now := w.own(p); now != own && now.until > 0 {
		x.granted(w, p, w.lives[p], now.epoch, now.lease)
	}
	if e.Type == lease.Requested {
		q := slices.Index(members[:], e.From.Name)
		if out.Response != nil && out.Response.Granted && e.Request.Kind == lease.Vote {
			x.granted(w, p, e.From, e.Request.Epoch, e.Request.Lease)
		}
		if out.Response != nil && w.lives[q] == e.From {
			w.responses[p][q] = append(slices.Clip(w.responses[p][q]), letter{from: w.lives[p], response: *out.Response})
		}
	}
	var asked []lease.Addressed
	for _, a := range out.Requests {
		q := slices.Index(members[:], a.To)
		if a.Request.Kind == lease.PreVote && x.prompt {
			asked = append(asked, a)
			continue
		}
		w.requests[p][q] = append(slices.Clip(w.requests[p][q]), letter{from: w.lives[p], request: a.Request})
	}
	for _, a := range asked {
		x.sound(w, p, slices.Index(members[:], a.To), a.Request)
	}
}

// sound asks and answers at once: a PREVOTE changes nothing at the voter, so only how old its answer is gets lost.
func (x *exploration) sound(w *world, p, q int, s lease.Request) {
	w.machines[q] = w.machines[q].Clone()
	x.tell(w, q, lease.Event{Type: lease.Requested, From: w.lives[p], Request: s}, false)
	queue := w.responses[q][p]
	if len(queue) == 0 {
		return
	}
	last := queue[len(queue)-1]
	w.responses[q][p] = queue[:len(queue)-1]
	x.tell(w, p, lease.Event{Type: lease.Responded, From: last.from, Response: last.response}, false)
}

// promiseToSelf is what a process has promised itself, as it counts it.
type promiseToSelf struct {
	epoch lease.Epoch
	lease time.Duration
	until time.Duration
}

func (w *world) own(p int) promiseToSelf {
	epoch, l, until := w.machines[p].Own()
	return promiseToSelf{epoch, l, until}
}

// digest notes the fingerprint of a machine.
func (x *exploration) digest(w *world, p int) {
	b := w.machines[p].AppendSnapshot(x.scratch[:0], quantum)
	w.digests[p] = [2]uint64{maphash.Bytes(x.hash[0], b), maphash.Bytes(x.hash[1], b)}
	x.scratch = b
}
