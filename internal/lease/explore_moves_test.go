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
		x.writing(w, p, visit)
		x.mishaps(w, p, visit)
	}
	if w.budget.quanta > 0 && w.underWay() <= x.late {
		x.pass(w, visit)
	}
}

// move gives an event to a process in a copy of the world, and once more with a disk that fails, if
// it is needed.
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
			if len(c.requests[p][q]) > longest || len(c.responses[p][q]) > longest || len(c.writes[p]) > longest {
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
		x.move(w, p, members[p]+" takes the next roster", visit, lease.Event{Type: lease.RosterChanged, Roster: group[next]}, func(c *world) {
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
	c.writes[p] = nil // the same, had it been written: that is what a write and then a restart come to
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

// tell gives an event to a machine of a world of its own, and carries out what it says. It reports
// whether anything had to be written; with a disk that fails it was not.
func (x *exploration) tell(w *world, p int, e lease.Event, fails bool) (wrote bool) {
	x.steps++
	m := w.machines[p]
	e.Now, e.T = w.read(p), shortT
	if e.Type == lease.Requested {
		e.ReplyTo = asked{from: e.From, request: e.Request, at: w.clocks[p]}
	}
	own := w.own(p)
	out := *m.Step(e)
	requests, replies := slices.Clone(out.Requests), slices.Clone(out.Replies)
	if e.Type == lease.Requested && e.Request.Kind == lease.Release {
		w.free(p, e.From, e.Request.Epoch)
	}
	if out.Withdraw {
		x.tell(w, p, lease.Event{Type: lease.Told, Until: w.told[p]}, false)
	}
	x.carryOut(w, p, requests, replies, own)
	if out.Version != 0 {
		wrote = true
		w.writes[p] = append(slices.Clip(w.writes[p]), written{out.Version, m.State()})
		if !x.slow {
			x.write(w, p, fails)
		}
	}
	if out.Appoint != "" && w.nominated[p] != out.Appoint {
		w.nominated[p] = out.Appoint
		x.tell(w, p, lease.Event{Type: lease.Nominated, Process: out.Appoint}, false)
	}
	if out.Suspect != "" && w.nominated[p] == out.Suspect && p > 0 {
		w.nominated[p] = members[p]
		x.tell(w, p, lease.Event{Type: lease.Nominated, Process: members[p]}, false)
	}
	if deadline := w.permitted(p); deadline > w.clocks[p] {
		w.told[p] = max(w.told[p], deadline)
	}
	x.digest(w, p)
	return wrote
}

// asked is what a reply replies to.
type asked struct {
	from    lease.Incarnation
	request lease.Request
	at      time.Duration // on the voter's clock
}

// write ends the oldest write of a process. One that fails takes with it all that are under way.
func (x *exploration) write(w *world, p int, fails bool) {
	if fails {
		w.writes[p] = nil
		x.tell(w, p, lease.Event{Type: lease.WriteFailed}, false)
		return
	}
	first := w.writes[p][0]
	w.writes[p] = w.writes[p][1:]
	w.disks[p] = first.state
	x.tell(w, p, lease.Event{Type: lease.Persisted, Version: first.version}, false)
}

// writing ends the oldest write of each disk that has one: well, or not.
func (x *exploration) writing(w *world, p int, visit func(*world)) {
	if len(w.writes[p]) == 0 {
		return
	}
	for _, fails := range []bool{false, true} {
		if fails && w.budget.faults == 0 {
			return
		}
		c := w.fork(members[p] + "'s disk has written")
		if fails {
			c.budget.faults--
			c.path.what = members[p] + "'s disk fails"
		}
		c.machines[p] = w.machines[p].Clone()
		x.write(c, p, fails)
		x.reach(c, visit)
	}
}

func (w *world) permitted(p int) time.Duration {
	if _, deadline, ok := w.machines[p].Permission(); ok {
		return deadline
	}
	return 0
}

// carryOut replies, and sends.
func (x *exploration) carryOut(w *world, p int, requests []lease.Addressed, replies []lease.Reply, own promiseToSelf) {
	for _, a := range requests {
		if a.Request.Kind == lease.Release { // which it has told itself, too, before anything else
			x.release(w, p, a.Request.Epoch)
			w.free(p, w.lives[p], a.Request.Epoch)
		}
	}
	if now := w.own(p); now != own && now.until > 0 {
		x.granted(w, p, w.lives[p], now.epoch, w.clocks[p]+now.lease)
	}
	for _, r := range replies {
		to := r.ReplyTo.(asked)
		q := slices.Index(members[:], r.To)
		if k := to.request.Kind; r.Response.Granted && (k == lease.Vote || k == lease.Renew) {
			x.granted(w, p, to.from, to.request.Epoch, to.at+to.request.Lease)
		}
		if w.lives[q] == to.from {
			w.responses[p][q] = append(slices.Clip(w.responses[p][q]), letter{from: w.lives[p], response: r.Response})
		}
	}
	var preVotes []lease.Addressed
	for _, a := range requests {
		q := slices.Index(members[:], a.To)
		if a.Request.Kind == lease.PreVote && x.prompt {
			preVotes = append(preVotes, a)
			continue
		}
		w.requests[p][q] = append(slices.Clip(w.requests[p][q]), letter{from: w.lives[p], request: a.Request})
	}
	for _, a := range preVotes {
		x.askPreVotes(w, p, slices.Index(members[:], a.To), a.Request)
	}
}

// askPreVotes asks and answers at once: a PREVOTE changes nothing at the voter, so only how old its
// answer is gets lost.
func (x *exploration) askPreVotes(w *world, p, q int, s lease.Request) {
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

// base is the round from which the rounds of a process count: a shift of all of them makes no
// difference. Responses that wait for a slow disk are counted at another process, so there it does.
func (x *exploration) base(w *world, p int) uint64 {
	if x.slow {
		return 0
	}
	return w.machines[p].Round()
}

// digest notes the fingerprint of a machine.
func (x *exploration) digest(w *world, p int) {
	b := w.machines[p].AppendSnapshot(x.scratch[:0], quantum, x.base(w, p))
	w.digests[p] = [2]uint64{maphash.Bytes(x.hash[0], b), maphash.Bytes(x.hash[1], b)}
	x.scratch = b
}
