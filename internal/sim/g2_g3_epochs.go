package sim

import (
	"slices"

	"github.com/podesta-dev/podesta/internal/lease"
)

// G2: an epoch belongs to one process, for ever.
//
// G3: epochs never decrease: neither those that are held in a group, nor those that a process
// follows under.
//
// takes checks G2 and G3, and of G9 (g9_coordinator.go) what a leaseholder must be, when a process
// begins to hold an epoch.
func (w *World) takes(p int32, o *oracle, e lease.Epoch) {
	w.Leases++
	w.truth.lastHeld = w.now
	w.tell("%s holds %s", names[p], e)
	if owner, known := o.owners[e]; known {
		w.fail("G2: %s holds %s, which %s has held", names[p], e, owner)
	}
	o.owners[e] = names[p]
	if w.timed() && e <= o.highest {
		w.fail("G3: %s holds %s after %s was held", names[p], e, o.highest)
	}
	o.highest = max(o.highest, e)
	if priority, known := w.priorityOf(p, names[p]); !known || priority <= 0 {
		w.fail("G9: %s holds %s and is not on its roster with a priority", names[p], e)
	}
}

// checkFollows: a process follows under higher and higher epochs. Hearsay may err (F2), and so may
// a process that believes a liar.
func (w *World) checkFollows(p int32, o *oracle, h *hold) {
	who, e, bound := w.processes[p].node.Lease().Following()
	if who == "" || !bound || w.believesALiar(p, o, e) {
		return
	}
	if e < h.follows {
		w.fail("G3: %s follows epoch %s after %s", names[p], e, h.follows)
	}
	h.follows = e
}

// believesALiar reports whether a process that does not vote follows under an epoch that nobody has
// held: it has no promise of its own by which it could tell.
func (w *World) believesALiar(p int32, o *oracle, e lease.Epoch) bool {
	if !w.Rogue {
		return false
	}
	_, held := o.owners[e]
	r := w.processes[p].roster
	return !held && r != nil && !slices.ContainsFunc(r.Members, func(m lease.Member) bool {
		return m.Name == names[p] && m.Voter
	})
}

// priorityOf is a process's priority by the roster that another one uses.
func (w *World) priorityOf(p int32, name string) (priority int32, known bool) {
	r := w.processes[p].roster
	if r == nil {
		return 0, false
	}
	for i := range r.Members {
		if r.Members[i].Name == name {
			return r.Members[i].Priority, true
		}
	}
	return 0, false
}
