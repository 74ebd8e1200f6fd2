package transport

import (
	"fmt"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// admits returns why the roster does not allow a sender to send to this process, or nil if it does.
func (h *hub) admits(name, uid string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.admitsLocked(name, uid)
}

func (h *hub) admitsLocked(name, uid string) error {
	m, ok := h.members[name]
	switch {
	case !ok:
		return refuse(unwanted, "%s is not on the roster of %s", name, h.self)
	case m.UID != uid:
		return refuse(unwanted, "%s has UID %s on the roster of %s, not %s", name, m.UID, h.self,
			uid)
	}
	return nil
}

// register makes s the current stream of its sender, or the next one after the stream that it
// succeeds. It returns the stream before it, nil if there was none. What arrives on that one comes
// first.
func (h *hub) register(s *served) (before *served, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.admitsLocked(s.from, s.uid); err != nil {
		return nil, err
	}
	if h.leaving {
		return nil, refuse(leaving, "%s is leaving", h.self)
	}
	old, known := h.served[s.from], h.acquainted[s.from]
	if known.latest.GetIncarnation() > s.incarnation {
		return nil, h.outnumber(s, old, known.latest)
	}
	known.latest = s.start
	switch {
	case old == nil:
		s.succeeds = false
	case s.succeeds && s.sameIncarnation(old) && !isClosed(old.ended):
		if old.next != nil {
			old.next.end(refuse(unwanted, "%s opened a newer stream", s.from))
		}
		old.next, s.replies = s, old.replies
		return old, nil
	default:
		s.succeeds = false
		replaced := &refusal{kind: unwanted, reason: s.from + " opened a newer stream"}
		if s.incarnation > old.incarnation && s.uid == old.uid {
			replaced.later, replaced.laterRuns = s.start, true
		}
		old.endAll(replaced)
	}
	h.served[s.from] = s
	return old, nil
}

// outnumber refuses a stream because this process has heard a later incarnation of its sender. If
// that one has a stream still, two copies of a process run, and each is told of the other.
func (h *hub) outnumber(s, current *served, latest *linkpb.Start) error {
	runs := current != nil && !isClosed(current.ended)
	if runs && current.rival != s.incarnation {
		current.rival = s.incarnation
		current.reply(&linkpb.Reply{Reply: &linkpb.Reply_Rival{Rival: s.start}})
	}
	return &refusal{
		kind: unwanted,
		reason: fmt.Sprintf("%s was heard as incarnation %d, which is newer than %d", s.from,
			latest.GetIncarnation(), s.incarnation),
		later:     latest,
		laterRuns: runs,
	}
}

// forget removes a stream that has ended. The stream that succeeds it takes its place.
func (h *hub) forget(s *served) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch now := h.served[s.from]; {
	case now == s && s.next != nil:
		h.served[s.from] = s.next
	case now == s:
		delete(h.served, s.from)
	case now != nil && now.next == s:
		now.next = nil
	}
}

// hurry has the next attempt to make a link to a process made now: the process is there.
func (h *hub) hurry(name string) {
	h.mu.Lock()
	l := h.links[name]
	h.mu.Unlock()
	if l != nil {
		l.hurry()
	}
}

// left ends this process's link to a process that leaves.
func (h *hub) left(name string) {
	h.mu.Lock()
	l := h.links[name]
	h.mu.Unlock()
	if l != nil {
		l.peerLeft()
	}
}
