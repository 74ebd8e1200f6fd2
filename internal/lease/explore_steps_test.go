package lease_test

import (
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

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
	if x.steady {
		m.LedForLong()
	}
	requests, replies := slices.Clone(out.Requests), slices.Clone(out.Replies)
	if e.Type == lease.Requested && e.Request.Kind == lease.Release {
		w.free(p, e.From, e.Request.Epoch)
	}
	if out.Revoke {
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
func (x *exploration) carryOut(
	w *world,
	p int,
	requests []lease.Addressed,
	replies []lease.Reply,
	own promiseToSelf,
) {
	for _, a := range requests {
		if a.Request.Kind == lease.Release { // which it has told itself, too, before anything else
			x.release(w, p, a.Request.Epoch)
			w.free(p, w.incarnations[p], a.Request.Epoch)
		}
	}
	if now := w.own(p); now != own && now.until > 0 {
		asked := now.until - lease.Window(now.lease) // which may be long ago, if a newer one was given up
		x.granted(w, p, w.incarnations[p], now.epoch, asked+now.lease)
	}
	for _, r := range replies {
		to := r.ReplyTo.(asked)
		q := slices.Index(members[:], r.To)
		if k := to.request.Kind; r.Response.Granted && (k == lease.Vote || k == lease.Renew) {
			x.granted(w, p, to.from, to.request.Epoch, to.at+to.request.Lease)
		}
		if w.incarnations[q] == to.from {
			w.responses[p][q] = append(
				slices.Clip(w.responses[p][q]),
				letter{from: w.incarnations[p], response: r.Response},
			)
		}
	}
	var preVotes []lease.Addressed
	for _, a := range requests {
		q := slices.Index(members[:], a.To)
		if a.Request.Kind == lease.PreVote && x.prompt {
			preVotes = append(preVotes, a)
			continue
		}
		w.requests[p][q] = append(
			slices.Clip(w.requests[p][q]),
			letter{from: w.incarnations[p], request: a.Request},
		)
	}
	for _, a := range preVotes {
		x.askPreVotes(w, p, slices.Index(members[:], a.To), a.Request)
	}
}

// askPreVotes asks and answers at once: a PREVOTE changes nothing at the voter, so only how old its
// answer is gets lost.
func (x *exploration) askPreVotes(w *world, p, q int, s lease.Request) {
	w.machines[q] = w.machines[q].Clone()
	x.tell(w, q, lease.Event{Type: lease.Requested, From: w.incarnations[p], Request: s}, false)
	queue := w.responses[q][p]
	if len(queue) == 0 {
		return
	}
	last := queue[len(queue)-1]
	w.responses[q][p] = queue[:len(queue)-1]
	x.tell(
		w,
		p,
		lease.Event{Type: lease.Responded, From: last.from, Response: last.response},
		false,
	)
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
