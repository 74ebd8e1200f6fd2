package sim

import (
	"github.com/podesta-dev/podesta/internal/node"
)

// The network: every process keeps links of its own to those that its Node wants, as
// internal/transport does. What it sends goes over its own link; replies come back on that link,
// and need the way back. Links keep order. A message that is lost breaks its link, sooner or later.

const (
	heartbeat   = T / 2
	mostTimeout = 5 * T / 2 // the upper bound of the failure detector's T, in every roster
)

// pair is the way from one process to another, and the link that it keeps.
type pair struct {
	state         linkState
	wanted        bool   // the Node wants a link
	refused       bool   // the Node knows that there is none
	uid           string // of the pod that the link is to, by the roster of whoever keeps it
	turn          uint64
	connection    *connection // while it is open or being made
	retiring      *connection // the one before, while what was sent on it is under way
	opens         Time
	breaks        Time // when it will be seen that a message was lost; 0: nothing was lost
	cut, clogged  Time // until when nothing passes, or what passes is held back
	last, replies Time // when the newest message, or the newest reply, arrives
	next          Time // when somebody looks after the link; 0: nobody will
}

type linkState uint8

const (
	none linkState = iota
	dialing
	open
	shut
)

// connection is a link from when it is made until it ends. It is what a reply names.
type connection struct {
	from, to int32
	caller   uint64 // run of the process that made it
	callee   uint64 // run of the other; 0: it is not open yet
	last     Time   // when the newest message on it arrives
	ends     Time   // of one that retires: when the other has read all that was sent
	ended    bool
}

// close ends a link without telling the Node.
func (l *pair) close() {
	if l.connection != nil {
		l.connection.ended = true
		l.connection = nil
	}
	l.state, l.refused, l.breaks, l.next = none, false, 0, 0
	l.turn++
}

// abort ends a link, and the one before that retires, without telling the Node.
func (l *pair) abort() {
	l.close()
	if l.retiring != nil {
		l.retiring.ended = true
		l.retiring = nil
	}
}

// passes reports whether anything gets from p to q.
func (w *World) passes(p, q int32) bool { return w.now >= w.pair(p, q).cut }

// reaches reports whether the two can talk, if both are there.
func (w *World) reaches(p, q int32) bool { return w.passes(p, q) && w.passes(q, p) }

// admits reports whether p takes what q says: the very pod is on its roster.
func (w *World) admits(p, q int32) bool {
	r := w.processes[p].roster
	if r == nil {
		return false
	}
	v := &w.processes[q]
	for i := range r.Members {
		if r.Members[i].Name == v.name {
			return r.Members[i].UID == v.self.UID
		}
	}
	return false
}

// uidBy is the UID of the pod that p's roster names as q; empty if it names none.
func (w *World) uidBy(p, q int32) string {
	if r := w.processes[p].roster; r != nil {
		for i := range r.Members {
			if r.Members[i].Name == w.processes[q].name {
				return r.Members[i].UID
			}
		}
	}
	return ""
}

// know reports whether two processes take each other for who they are.
func (w *World) know(p, q int32) bool { return w.admits(p, q) && w.admits(q, p) }

// dial begins to make a link.
func (w *World) dial(p, q int32) {
	l := w.pair(p, q)
	l.state, l.opens = dialing, w.now+w.within(Unit)
	if l.retiring != nil { // the Node hears of its end first
		l.opens = max(l.opens, l.retiring.ends+1)
	}
	l.connection = &connection{
		from:   p,
		to:     q,
		caller: w.processes[p].number,
	}
	w.lookAt(p, q, l.opens)
}

// look has somebody look after a link in a while.
func (w *World) look(p, q int32, after Time) { w.lookAt(p, q, w.now+after) }

func (w *World) lookAt(p, q int32, at Time) {
	l := w.pair(p, q)
	if l.next != 0 && l.next <= at {
		return
	}
	l.next = at
	t := w.plan(at, Looks, linkTask, p)
	t.q, t.number, t.value = q, l.turn, at
}

// tend sees to the link from p to q: it is made, or found refused or broken.
func (w *World) tend(t *task) {
	l := w.pair(t.p, t.q)
	if l.turn != t.number || l.next != t.value || w.processes[t.p].node == nil {
		return
	}
	l.next = 0
	switch l.state {
	case none:
	case open:
		w.tendOpen(t.p, t.q, l)
	case dialing, shut:
		if w.now < l.opens {
			w.lookAt(t.p, t.q, l.opens)
			return
		}
		if l.retiring != nil { // its sender has stood still
			w.look(t.p, t.q, Unit)
			return
		}
		w.tendClosed(t.p, t.q, l)
	}
}

func (w *World) tendOpen(p, q int32, l *pair) {
	other := &w.processes[q]
	ended := l.connection.ended || other.node == nil || other.number != l.connection.callee ||
		!w.know(p, q)
	switch {
	case l.breaks > 0 && w.now >= l.breaks, ended && w.reaches(p, q):
		w.lost(p, q, l)
	case ended:
		w.look(p, q, heartbeat)
	case l.breaks > 0:
		w.lookAt(p, q, l.breaks)
	}
}

func (w *World) tendClosed(p, q int32, l *pair) {
	other := &w.processes[q]
	if w.reaches(p, q) && other.node != nil && w.know(p, q) && w.now >= other.awake {
		if l.connection == nil {
			l.connection = &connection{
				from:   p,
				to:     q,
				caller: w.processes[p].number,
			}
		}
		l.state, l.refused, l.connection.callee = open, false, other.number
		w.tell("%s → %s link up", names[p], names[q])
		w.step(p, &node.Event{Type: node.LinkUp, From: names[q]})
		return
	}
	refused := l.refused
	w.shutDown(l)
	l.opens, l.refused = w.now+heartbeat, true
	w.lookAt(p, q, l.opens)
	if !refused {
		w.tell("%s → %s link refused", names[p], names[q])
		w.step(p, &node.Event{Type: node.LinkDown, From: names[q]})
	}
}

func (w *World) shutDown(l *pair) {
	if l.connection != nil {
		l.connection.ended = true
		l.connection = nil
	}
	l.state, l.breaks = shut, 0
}

// lost: an open link is down, and that is evidence.
func (w *World) lost(p, q int32, l *pair) {
	w.shutDown(l)
	l.opens, l.refused = w.now+w.within(heartbeat), true
	w.lookAt(p, q, l.opens)
	w.tell("%s → %s link down", names[p], names[q])
	w.step(p, &node.Event{Type: node.LinkDown, From: names[q]})
}

// admit ends a process's links from and to pods that its roster names no more. A link to another
// pod of the same name is made anew, and what is known of the old one says nothing.
func (w *World) admit(p int32) {
	for q := range int32(len(w.processes)) {
		l := w.pair(p, q)
		if uid := w.uidBy(p, q); uid != l.uid {
			l.uid = uid
			if l.state == shut {
				l.refused, l.opens = false, w.now+w.within(Unit)
				w.lookAt(p, q, l.opens)
			}
		}
		if q == p || w.know(p, q) {
			continue
		}
		if w.pair(q, p).state == open {
			w.look(q, p, w.within(Unit))
		}
		if w.pair(p, q).state == open {
			w.look(p, q, w.within(Unit))
		}
	}
}

// rip notes that a message on a link was lost. Its sender sees that sooner or later, and makes the
// link anew.
func (w *World) rip(s *connection) {
	l := w.pair(s.from, s.to)
	if l.connection == s && l.state == open && l.breaks == 0 {
		l.breaks = w.now + w.within(20*T)
		w.lookAt(s.from, s.to, l.breaks)
	}
}
