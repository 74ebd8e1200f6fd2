package sim

import (
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// G8: what is stepped down from, or released, is not held; what is released, no app may act under.

// checkRequest checks what a process says of its lease before it goes out.
func (w *World) checkRequest(p int32, m *node.Message) {
	r := &m.Request
	v := &w.processes[p]
	if p == w.rogue || v.node.Lease() == nil {
		return
	}
	switch r.Kind {
	case lease.Release:
		w.checkNotHeld(p, "releases", r.Epoch)
		if a := &v.app; a.process == v.self && a.epoch == r.Epoch && w.acts(p) {
			w.fail("G8: %s releases %s; its app may act until %s", v.name, r.Epoch,
				clockFormat(v.clock.when(a.deadline)))
		}
	case lease.StepDown:
		w.checkNotHeld(p, "steps down from", r.Epoch)
	default:
	}
}

func (w *World) checkNotHeld(p int32, does string, e lease.Epoch) {
	if held, _, ok := w.processes[p].node.Lease().Permission(); ok && held <= e {
		w.fail("G8: %s %s %s and holds %s", names[p], does, e, held)
	}
}
