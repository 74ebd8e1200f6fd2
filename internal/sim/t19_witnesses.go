package sim

import (
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/membership"
)

// T19: pods are marked as witnesses (MC13), by their template or later, and marks are taken off.
// From the first roster on that has a pod while its manager sees the mark, that pod has priority 0
// on every roster of the group object, so that no majority votes for it. (A pod that waits for the
// end of an earlier one of its name is on no roster yet.)

// remark puts the mark of a witness on a pod, or takes it off.
func (w *World) remark() {
	p := w.someone()
	if pod := &w.api.pods[p]; pod.there {
		pod.witness = !pod.witness
		w.tell("%s is marked as a witness: %t", uidOf(p, pod.uid), pod.witness)
	}
}

// isWitness reports whether the template of a place's pods marks them.
func (w *World) isWitness(p int32) bool { return int(p) < w.Witnesses }

// checkWitnesses checks what agents are to be told of pods that a manager has seen the mark of.
// (What was recorded after the backup was made that somebody restored is not known any more.)
func (w *World) checkWitnesses(m *manager, told []lease.Member) {
	seen := w.oracle().witnesses
	for i := range told {
		q := &told[i]
		p := w.place(q.Name)
		if pod := &m.cache.pods[p]; pod.there && pod.witness && uidOf(p, pod.uid) == q.UID {
			seen[q.UID] = true
		}
		if seen[q.UID] && q.Priority != 0 && w.SetBack == 0 {
			w.fail("T19: %s is a witness, and has priority %d", q.UID, q.Priority)
		}
	}
}

// unmark is a manager that gives witnesses the priorities of their own pods in what it tells
// agents.
func (w *World) unmark(m *manager, r *membership.Roster, told []lease.Member) {
	for i := range told {
		if r.Members[i].Witness {
			told[i].Priority = m.cache.pods[w.place(told[i].Name)].priority
		}
	}
}
