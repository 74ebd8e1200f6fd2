package sim

import (
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/node"
)

// obey does what a Ready says, in the order that package node asks for.
func (w *World) obey(p int32, e *node.Event, r *node.Ready) {
	v := &w.processes[p]
	before := v.seen
	if m := v.node.Election(); m != nil {
		v.seen = m.State()
	}
	if w.sabotage.cheat != nil {
		w.cheat(p, *e, r)
	}
	w.checkStep(p, e, r)
	w.checkLevel(p, r)
	if w.out != nil {
		w.tellStep(p, e, r)
	}
	if r.Revoke {
		w.revoke(p)
	}
	if r.Write != nil {
		w.write(p, *r.Write)
	}
	revoked, unwanted := r.Revoke, w.rewire(p, r)
	if !w.send(p, e, r, &before) {
		w.crash(p)
		return
	}
	w.drop(p, unwanted)
	if !w.sabotage.keepPermission || r.Permission.Epoch != 0 {
		v.ledger.Grant(r.Permission)
	}
	w.checkDecision(p, &before, r.Roster != nil)
	if r.Next != 0 {
		v.next = r.Next
		w.planTick(p, max(v.clock.when(r.Next), w.now+1))
	}
	if r.Behind && !v.asked {
		v.asked = true
	}
	left, number := r.Left, v.number
	if revoked { // r must not be read from here on
		w.step(p, w.told(p))
	}
	if left && v.leaving && v.number == number {
		w.depart(p)
	}
}

// send sends the messages of a Ready. It reports false if the process crashes in the middle.
func (w *World) send(p int32, e *node.Event, r *node.Ready, before *election.State) bool {
	last := w.doom(p, e, r, before)
	for i := range r.Messages {
		if i == last {
			return false
		}
		w.post(p, &r.Messages[i])
	}
	return last < len(r.Messages)
}

// rewire lets those send that a Ready names, and makes links to those that it wants. It returns
// those to whom a link is wanted no more, as bits.
func (w *World) rewire(p int32, r *node.Ready) (unwanted uint32) {
	v := &w.processes[p]
	if r.Exited {
		v.roster = nil
		w.tell("%s takes part no more", v.name)
		w.dropAll(p)
	}
	if r.Roster != nil {
		v.roster, v.asked = r.Roster, false
		clear(v.heard)
	}
	if r.Exited || r.Roster != nil {
		w.admit(p)
	}
	if !r.Relink {
		return 0
	}
	var wanted uint32
	for _, name := range r.Links {
		if q := w.place(name); q >= 0 && q != p {
			wanted |= 1 << q
		}
	}
	for q := range int32(len(w.processes)) {
		l := w.pair(p, q)
		switch want := wanted>>q&1 != 0; {
		case want && !l.wanted:
			w.dial(p, q)
		case !want && l.wanted:
			unwanted |= 1 << q
		}
		l.wanted = wanted>>q&1 != 0
	}
	return unwanted
}
