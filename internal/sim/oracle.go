package sim

import (
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// oracle is what the invariants of a Guarded group remember of a group object: who has promised
// what, in true time. It looks at what nodes do and say; it decides nothing by itself.
type oracle struct {
	promises []promise // by place of the voter and number of its state directory
	// by place of the voter: of all its state directories, the one that runs longest
	widest    []promise
	owners    map[lease.Epoch]string // who has held it
	highest   lease.Epoch            // that anybody has held
	holds     []hold                 // by place
	rosters   map[int64]*node.Roster // by generation
	stepDowns map[string]bool        // that have begun (T17)

	witnesses map[string]bool // UIDs of pods whose marks a manager has seen (T19)
}

// promise is a voter's word, once it has been given.
type promise struct {
	to       lease.Incarnation
	epoch    lease.Epoch   // the highest that it has promised
	deadline lease.Instant // on the voter's clock
	until    Time          // the same in true time, at the present rate of that clock
}

// word is a promise that has been made, given or not.
type word struct {
	promise
	group       int    // the group object that it was asked in
	first, last uint64 // rounds of the candidate in which it was asked
}

// hold is what a process may do, as its Node has it.
type hold struct {
	epoch    lease.Epoch
	until    Time // in true time
	deadline lease.Instant
	follows  lease.Epoch // the highest that this run followed under
	number   uint64      // of the run
}

// oracle is that of the newest group object.
func (w *World) oracle() *oracle { return &w.oracles[w.api.group-1] }

// oracleOf is that of the group that a process is in; nil: it is in none.
func (w *World) oracleOf(p int32) *oracle {
	g := w.groupOf(p)
	if g == 0 || g > len(w.oracles) {
		return nil
	}
	return &w.oracles[g-1]
}

func (w *World) newOracle() {
	n := len(w.processes)
	if len(w.oracles) < cap(w.oracles) {
		w.oracles = w.oracles[:len(w.oracles)+1]
	} else {
		w.oracles = append(w.oracles, oracle{})
	}
	o := &w.oracles[len(w.oracles)-1]
	if o.owners == nil {
		o.owners, o.rosters = map[lease.Epoch]string{}, map[int64]*node.Roster{}
		o.stepDowns, o.witnesses = map[string]bool{}, map[string]bool{}
	}
	clear(o.witnesses)
	clear(o.owners)
	clear(o.rosters)
	clear(o.stepDowns)
	o.highest = 0
	o.promises = again(o.promises, n*maxStateIDs)
	o.widest, o.holds = again(o.widest, n), again(o.holds, n)
}

// promise is the newest one of a voter with its n-th state directory.
func (o *oracle) promise(p int32, n int) *promise { return &o.promises[int(p)*maxStateIDs+n] }

// timed reports whether clocks are within the bound, so that G1, G5 and what follows from them must
// hold.
func (w *World) timed() bool { return !w.Beyond }

// beforeMessage notes what a message means for what was promised, before the voter hears it.
func (w *World) beforeMessage(p int32, e *node.Event) {
	if r := &e.Message.Request; w.Guarded && e.Message.Type == node.LeaseRequest &&
		r.Kind == lease.Release {
		w.releases(p, e.From, e.Incarnation, r.Group, r.Epoch)
	}
}

// releases ends what a voter has promised that run up to an epoch: it has been given back.
func (w *World) releases(p int32, from string, number uint64, group string, e lease.Epoch) {
	o := w.oracleOf(p)
	if o == nil || w.processes[p].roster == nil || group != w.processes[p].roster.Group {
		return // of another object of the group's name: an epoch there is another one
	}
	v := &w.processes[p]
	for _, q := range [...]*promise{o.promise(p, v.disk.number), &o.widest[p]} {
		q.release(from, number, e, w.now)
	}
	for i := range v.words { // also those that are given late, when nobody wants them any more
		if v.words[i].group == w.groupOf(p) {
			v.words[i].release(from, number, e, w.now)
		}
	}
}

func (p *promise) release(from string, number uint64, e lease.Epoch, now Time) {
	if p.to.Name == from && p.to.Number == number && p.epoch <= e && p.until > now {
		p.until = now
	}
}

// noteWord keeps what a request has made a voter promise. It is given when the answer goes out. A
// denial goes out at once, and says nothing of what was promised before. It binds for what was
// asked for: that the voter itself goes by more, because of a vote that waits for the disk, nobody
// relies on.
func (w *World) noteWord(p int32, q *lease.Request, r *node.Ready) {
	v := &w.processes[p]
	m := v.node.Lease()
	if m == nil || !votes(q.Kind) || denies(r, q) {
		return
	}
	to, remaining := m.Promised()
	if to.Name == "" || remaining <= 0 {
		return
	}
	deadline := v.clock.instant(w.now) + q.Lease
	made := word{promise{to, q.Epoch, deadline, v.clock.when(deadline)}, w.groupOf(p), q.Round,
		q.Round}
	for i := range v.words {
		if said := &v.words[i]; said.to == to && said.epoch == q.Epoch && said.group == made.group {
			said.first, said.last = min(said.first, q.Round), max(said.last, q.Round)
			if deadline > said.deadline {
				said.deadline, said.until = deadline, made.until
			}
			return
		}
	}
	v.words[v.said%len(v.words)] = made
	v.said++
}

// denies reports whether a step denies what it was asked for.
func denies(r *node.Ready, q *lease.Request) bool {
	for i := range r.Messages {
		m, v := &r.Messages[i], &r.Messages[i].Response
		if m.Type == node.LeaseResponse && !v.Granted && v.Kind == q.Kind && v.Epoch == q.Epoch &&
			v.Round == q.Round {
			return true
		}
	}
	return false
}

// give notes a promise that a voter has given, and checks G4.
func (w *World) give(p int32, o *oracle, now promise) {
	before, widest := o.promise(p, w.processes[p].disk.number), &o.widest[p]
	if before.to == now.to {
		if now.epoch <= before.epoch && now.until <= before.until {
			return
		}
		now.epoch = max(before.epoch, now.epoch)
		if now.until < before.until {
			now.until, now.deadline = before.until, before.deadline
		}
	}
	w.checkPromise(p, &now, before, widest)
	*before = now
	if now.until >= widest.until {
		*widest = now
	}
}

// oracleRates recomputes in true time what a clock says that has changed its rate.
func (w *World) oracleRates(p int32) {
	if !w.Guarded {
		return
	}
	v := &w.processes[p]
	for i := range w.oracles {
		o := &w.oracles[i]
		for n := range v.disk.number + 1 {
			o.promise(p, n).clockChanged(w.now, &v.clock)
		}
		o.widest[p].clockChanged(w.now, &v.clock)
		if h := &o.holds[p]; h.epoch != 0 {
			h.until = v.clock.when(h.deadline)
		}
	}
	for i := range v.words {
		v.words[i].clockChanged(w.now, &v.clock)
	}
}

func (p *promise) clockChanged(now Time, c *clock) {
	if p.until > now {
		p.until = c.when(p.deadline)
	}
}
