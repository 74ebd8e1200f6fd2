package sim

import (
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/membership"
)

// T21: a node gets another machine under its name. The new kubelet starts the node's pods again,
// with the same UIDs and empty state directories. The old machine runs on, cut off, until somebody
// switches it off.
//
// The process at the pod's place stays the agent on the old machine. The new agent only reports to
// the managers. It runs, and votes, when the old machine is off. Once the roster records that the
// pod was replaced, its kubelet may call the pod over, and means the new machine.

// replaceMachines replaces some machines. Those that are cut off reach each other.
func (w *World) replaceMachines() {
	until := w.now + 20*T + w.lasting(100*T)
	for p := range int32(len(w.processes)) {
		if w.rng.IntN(2) == 0 {
			w.replaceMachine(p, until)
		}
	}
}

func (w *World) replaceMachine(p int32, until Time) {
	v := &w.processes[p]
	pod := &w.api.pods[p]
	if v.node == nil || v.leaving || p == w.rogue || v.replacedUntil != 0 || !pod.there ||
		pod.deleting != 0 || v.disk.number+1 >= maxStateIDs {
		return
	}
	v.replacedUntil, v.stranded = until, max(v.stranded, until)
	w.tell("the machine of %s is replaced, and runs on until %s", v.name, clockFormat(until))
	w.plan(until, Faults, machineTask, p)
	for q := range int32(len(w.processes)) {
		cutOff := until
		if w.processes[q].replacedUntil != 0 { // both are on the same side now
			cutOff = w.now
		}
		w.pair(p, q).cut, w.pair(q, p).cut = cutOff, cutOff
	}
}

// switchOff ends an old machine. The agent on the new one takes its place.
func (w *World) switchOff(p int32) {
	v := &w.processes[p]
	if v.replacedUntil == 0 {
		return
	}
	v.replacedUntil, v.up = 0, false
	w.halt(p)
	v.app = app{keeps: v.app.keeps}
	v.disk = disk{number: v.disk.number + 1, turn: v.disk.turn}
	w.tell("the old machine of %s is off", v.name)
	if v.gone = !w.api.pods[p].there; !v.gone && !w.calm {
		w.plan(w.now+w.within(T), Faults, startTask, p)
	}
}

// removeReplaced takes a pod out of the API. Its old machine runs on.
func (w *World) removeReplaced(p int32) {
	pod := &w.api.pods[p]
	pod.there, pod.deleting = false, 0
	w.tell("pod %s is gone; its old machine runs on", uidOf(p, pod.uid))
	if newest := w.api.newest(); newest != nil && w.recordsReplaced(newest, p) {
		w.plan(w.now+1+w.lasting(10*T), Faults, endedTask, p).number = uint64(p)<<8 | uint64(pod.uid)
	}
}

func (w *World) recordsReplaced(r *roster, p int32) bool {
	for i := range r.members.Members {
		m := &r.members.Members[i]
		if m.UID == w.processes[p].self.UID && m.StateID == w.processes[p].self.StateID {
			return m.Replaced
		}
	}
	return false
}

// reportAnew is what the agent on a new machine tells its manager. It takes the newest roster that
// this one knows.
func (w *World) reportAnew(p int32, m *manager) {
	const anew = 1 << 40 // no agent has run so often
	v, r := &w.processes[p], &m.reports[p]
	if !w.api.pods[p].there {
		return
	}
	if number := v.number | anew; r.at == 0 || r.number != number || w.now-r.at >= patience {
		*r = report{since: m.clock(w.now), number: number}
	}
	r.at, r.uid, r.stateID = max(w.now, 1), v.self.UID, stateIDs[p][v.disk.number+1]
	r.rules = v.rules
	known := w.api.roster(m.cache.version)
	if known == nil || known.node == nil || known.group != m.group ||
		!lease.Supports(v.rules, known.node.Rules) {
		return
	}
	for i := range known.node.Members {
		if known.node.Members[i].UID == v.self.UID {
			r.group, r.generation = known.group, known.node.Generation
		}
	}
}

// forgetReplaced is an operator's word in calm: the old machines are off.
func (w *World) forgetReplaced(f *membership.Facts) {
	f.Forget = membership.ForgetRequest{}
	if !w.calm || f.Roster == nil || w.now < w.Chaos+5*Time(time.Second) {
		return
	}
	f.Forget.Generation = f.Roster.Generation
	for i := range f.Roster.Members {
		m := &f.Roster.Members[i]
		v := &w.processes[w.place(m.Name)]
		if m.Replaced && (v.node == nil || v.self.UID != m.UID || v.self.StateID != m.StateID) {
			if f.Forget.Processes == nil {
				f.Forget.Processes = map[membership.Identity]bool{}
			}
			f.Forget.Processes[membership.Identity{Name: m.Name, UID: m.UID}] = true
		}
	}
}
