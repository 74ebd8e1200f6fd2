package sim

import (
	"github.com/podesta-dev/podesta/internal/node"
)

// G11: nothing that an earlier run of a process has said moves anything of the election.
//
// G12: nothing that a stranger says does; and nobody sends to one. (That a pod which is not on the
// roster cannot be heard at all is the links' business: arrive in mail.go.)

// replay hands over a message that went out long ago, in whatever run its receiver is.
func (w *World) replay(t *task, m *mail) {
	v := &w.processes[t.q]
	// nobody waits for a reply any more
	m.connection = &connection{
		from:   t.p,
		to:     t.q,
		caller: m.event.Incarnation,
		ended:  true,
	}
	before, sent, leaves := v.seen, w.Messages, v.leaving // who leaves ends when his time is over
	late := m.event.Message.Type == node.Election && m.event.Incarnation < v.heard[t.p]
	w.hand(t, m)
	if late && (v.node == nil && !leaves || v.seen != before || w.Messages != sent) {
		w.fail("G11: %s was moved by %s of an earlier run of %s", v.name, m.event.Message.Election.Kind,
			names[t.p])
	}
}
