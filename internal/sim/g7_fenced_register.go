package sim

import "github.com/podesta-dev/podesta/internal/lease"

// G7: a resource that checks epochs never accepts a lower one after a higher one, nor one epoch of
// two processes.

// register is a resource that refuses an epoch below the highest that it has seen (G7).
type register struct {
	highest  lease.Epoch
	by       lease.Incarnation
	group    int
	accepted int
	refused  int
}

// act writes to the register.
func (w *World) act(p int32, e lease.Epoch, group int) {
	r := &w.register
	switch {
	case group < r.group:
		return
	case group > r.group:
		*r = register{
			group:    group,
			accepted: r.accepted,
			refused:  r.refused,
		}
	}
	if w.sabotage.forge {
		e = max(e, r.highest)
	}
	if e < r.highest {
		r.refused++
		return
	}
	if e == r.highest && r.by.Name != names[p] {
		w.fail("G7: the register accepts epoch %s of %s and of %s", e, r.by.Name, names[p])
	}
	r.highest, r.by = e, w.processes[p].self
	r.accepted++
}
