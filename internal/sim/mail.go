package sim

import (
	"github.com/podesta-dev/podesta/internal/node"
)

// mail is a message under way, as the event that its receiver gets, with what its link says of it.
type mail struct {
	event      node.Event
	connection *connection
	uid        int  // of the sender's pod
	reply      bool // it comes back on the receiver's link
	replay     bool // it went out long ago
}

// write makes mail of what a process sends.
func (m *mail) write(from *process, message *node.Message, s *connection) {
	e := &m.event
	e.Type, e.From, e.Incarnation, e.StateID = node.Received, from.name, from.number, from.self.StateID
	e.Message = *message
	m.connection, m.uid, m.reply, m.replay = s, from.uid, false, false
}

// office holds mail in slots that are used again.
type office struct {
	mails []mail
	free  []int32
	old   [64]mail // sent once, to be replayed
	froms [64]int32
	said  int
}

func (o *office) reset() { *o = office{mails: o.mails[:0], free: o.free[:0]} }

func (o *office) put() int32 {
	if last := len(o.free) - 1; last >= 0 {
		slot := o.free[last]
		o.free = o.free[:last]
		return slot
	}
	o.mails = append(o.mails, mail{})
	return int32(len(o.mails) - 1)
}

// post sends a message on its way, or not.
func (w *World) post(p int32, m *node.Message) {
	if w.keepRosters && m.Type == node.RosterRequest {
		return
	}
	w.countMessage(p, m)
	switch m.Type {
	case node.Answer, node.LeaseResponse, node.RosterReply:
		w.postReply(p, m)
		return
	default:
	}
	q := w.place(m.To)
	if q < 0 || q == p {
		w.fail("G12: %s sends %s to %q", names[p], describeMessage(m), m.To)
		return
	}
	w.mix(uint64(p)<<8|uint64(q), uint64(m.Type))
	l := w.pair(p, q)
	switch {
	case l.connection == nil:
		w.tellLost(p, q, m, "there is no link")
		return
	case w.chance(w.Loss) || !w.passes(p, q):
		w.rip(l.connection)
		w.tellLost(p, q, m, "lost on the way")
		return
	}
	w.send1(p, q, m, w.arrival(l), l.connection)
	if w.chance(w.Duplicate) {
		w.send1(p, q, m, w.arrival(l), l.connection)
	}
	if w.Replay > 0 {
		w.remember(p, q, m)
	}
}

// postReply sends a reply back over the link that the question came on.
func (w *World) postReply(p int32, m *node.Message) {
	s, ok := m.ReplyTo.(*connection)
	if !ok {
		w.fail("%s replies with %s, and not to anything that it was sent", names[p], describeMessage(m))
		return
	}
	w.mix(uint64(p)<<8|uint64(s.from), uint64(m.Type))
	l := w.pair(s.from, p)
	switch {
	case s.ended || s.callee != w.processes[p].number:
		w.tellLost(p, s.from, m, "its link has ended")
		return
	case w.chance(w.Loss) || !w.passes(p, s.from):
		w.rip(s)
		w.tellLost(p, s.from, m, "lost on the way")
		return
	}
	at := max(w.delay(), w.pair(p, s.from).clogged)
	if !w.Reorder || w.calm {
		at = max(at, l.replies)
	}
	l.replies = max(l.replies, at)
	w.send1(p, s.from, m, at, s).reply = true
	if w.chance(w.Duplicate) {
		w.send1(p, s.from, m, at+w.within(Unit), s).reply = true
	}
}

// send1 lets a message arrive.
func (w *World) send1(p, q int32, m *node.Message, at Time, s *connection) *mail {
	if w.route != nil {
		at = w.route(p, q, m, at)
	}
	if p == s.from {
		s.last = max(s.last, at)
	}
	slot := w.office.put()
	o := &w.office.mails[slot]
	o.write(&w.processes[p], m, s)
	t := w.queue.Push(at, Arrivals)
	t.kind, t.p, t.q, t.slot = mailTask, p, q, slot
	return o
}

// delay draws when a message arrives.
func (w *World) delay() Time {
	at := w.now + w.within(Unit)
	if w.chance(w.Tail) {
		at = w.now + w.within(10*T)
		w.remains = max(w.remains, at)
	}
	return at
}

// arrival is when the next message of a link arrives.
func (w *World) arrival(l *pair) Time {
	at := max(w.delay(), l.clogged)
	if l.state == dialing {
		at = max(at, l.opens+1)
	}
	if !w.Reorder || w.calm {
		at = max(at, l.last)
	}
	l.last = max(l.last, at)
	return at
}

// remember keeps a message, and now and then lets one that it has kept arrive once more, in
// whatever run its receiver is.
func (w *World) remember(p, q int32, m *node.Message) {
	o := &w.office
	i := o.said % len(o.old)
	o.old[i].write(&w.processes[p], m, nil)
	o.old[i].replay = true
	o.froms[i] = p
	o.old[i].event.Message.To = names[q]
	o.said++
	if !w.chance(w.Replay) {
		return
	}
	i = w.rng.IntN(min(o.said, len(o.old)))
	slot := o.put()
	o.mails[slot] = o.old[i]
	at := w.now + w.within(10*T)
	w.remains = max(w.remains, at)
	t := w.queue.Push(at, Arrivals)
	t.kind, t.p, t.q, t.slot = mailTask, o.froms[i], w.place(o.old[i].event.Message.To), slot
}

// arrive hands a message over, unless its link broke meanwhile.
func (w *World) arrive(t *task) {
	slot := t.slot
	if s := w.office.mails[slot].connection; s != nil && !s.ended && s.callee == 0 {
		w.wait(t, s)
		return
	}
	w.deliver(t, &w.office.mails[slot])
	w.office.free = append(w.office.free, slot)
}

// deliver hands a message over, or not. What it leads to may put new mail into the office, but not
// into the slot of this one.
func (w *World) deliver(t *task, m *mail) {
	v := &w.processes[t.q]
	switch {
	case v.node == nil:
		w.tellLost(t.p, t.q, &m.event.Message, "it is down")
	case m.replay:
		if v.roster != nil && w.knows(t.q, t.p, m.uid) {
			w.replay(t, m)
		}
	case m.connection.ended || !w.passes(t.p, t.q):
		if !m.connection.ended {
			w.rip(m.connection)
		}
		w.tellLost(t.p, t.q, &m.event.Message, "cut off")
	case m.reply && m.connection.caller != v.number, !m.reply && m.connection.callee != v.number:
		w.rip(m.connection)
		w.tellLost(t.p, t.q, &m.event.Message, "it has restarted")
	case !m.reply && !w.knows(t.q, t.p, m.uid):
		w.tellLost(t.p, t.q, &m.event.Message, "refused: that pod is not on the roster")
	default:
		w.hand(t, m)
	}
}

// wait has a message wait for its link to be made.
func (w *World) wait(t *task, s *connection) {
	at := w.pair(s.from, s.to).opens + 1
	if at <= w.now {
		at = w.now + Unit/10 // the sender stands still
	}
	*w.queue.Push(at, Arrivals) = *t
}

// knows reports whether the roster of p has that pod of q.
func (w *World) knows(p, q int32, uid int) bool {
	r := w.processes[p].roster
	if r == nil {
		return false
	}
	for i := range r.Members {
		if r.Members[i].Name == names[q] {
			return r.Members[i].UID == uidOf(q, uid)
		}
	}
	return false
}

// hand gives a message to the Node.
func (w *World) hand(t *task, m *mail) {
	e := &m.event
	e.Message.To, e.Message.ReplyTo = "", nil
	switch e.Message.Type {
	case node.Question, node.LeaseRequest, node.RosterRequest:
		e.Message.ReplyTo = m.connection
	case node.RosterReply:
		if !w.processes[t.q].node.Awaits(names[t.p]) {
			return // as the agent does, which opens only what it has asked for
		}
	default:
	}
	w.beforeMessage(t.q, e)
	v := &w.processes[t.q]
	// A message of another algorithm is not heard at all (receivedElection in internal/node). That an
	// older run may still be heard after it is the links' business: theirs let none follow a newer
	// one.
	if e.Message.Type == node.Election && v.roster != nil &&
		e.Message.Algorithm == v.roster.Algorithm {
		v.heard[t.p] = max(v.heard[t.p], e.Incarnation)
	}
	if w.sabotage.oneRun {
		e.Incarnation = w.processes[t.p].number
	}
	w.step(t.q, e)
}
