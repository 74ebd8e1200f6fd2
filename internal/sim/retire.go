package sim

import (
	"time"

	"github.com/podesta-dev/podesta/internal/node"
)

// retirement is for how long a link retires at most, as in internal/transport (leastPatience).
const retirement = Time(1500 * time.Millisecond)

// drop ends links that are wanted no more. As in internal/transport, one that is open retires: what
// was sent on it arrives, nothing more is sent, and the Node hears that it has ended when the other
// has read it all, or after retirement. A link to a process that the roster does not name any
// more ends at once.
func (w *World) drop(p int32, unwanted uint32) {
	for q := int32(0); unwanted>>q != 0; q++ {
		if unwanted>>q&1 != 0 {
			w.retire(p, q)
		}
	}
}

// dropAll ends the links of a process that is on no roster any more, and those of others to it, at
// once: what it still had to reply goes nowhere. If it is on a roster again, all are made anew.
func (w *World) dropAll(p int32) {
	for q := range int32(len(w.processes)) {
		if l := w.pair(p, q); l.wanted {
			w.retire(p, q)
			l.wanted = false
		}
		if l := w.pair(q, p); l.state == open {
			l.connection.ended = true
			w.look(q, p, w.within(Unit))
		}
	}
}

func (w *World) retire(p, q int32) {
	l := w.pair(p, q)
	s := l.connection
	if l.state != open {
		l.close()
		return
	}
	s.ends = w.now
	if w.uidBy(p, q) != "" {
		s.ends = min(max(s.last, w.now)+w.within(Unit), w.now+retirement)
	}
	l.connection, l.retiring = nil, s
	l.close()
	t := w.plan(s.ends, Looks, retireTask, p)
	t.q, t.number, t.value = q, w.processes[p].number, s.ends
}

// retired: the last that was sent on a link has arrived, or never will.
func (w *World) retired(t *task) {
	l := w.pair(t.p, t.q)
	if l.retiring == nil || l.retiring.ends != t.value || l.retiring.caller != t.number {
		return
	}
	l.retiring.ended = true
	l.retiring = nil
	w.tell("%s → %s link ended", names[t.p], names[t.q])
	w.step(t.p, &node.Event{Type: node.LinkDropped, From: names[t.q]})
}
