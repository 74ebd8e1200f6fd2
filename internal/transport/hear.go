package transport

// admits says why the roster does not let a sender send to us, if so.
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
		return refuse(unwanted, "%s has UID %s on the roster of %s, not %s", name, m.UID, h.self, uid)
	}
	return nil
}

// hear makes s the session of its sender that is heard, or that will be after the one that it succeeds. It returns the session
// before it, nil if there was none: what that one still says comes first.
func (h *hub) hear(s *session) (before *session, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.admitsLocked(s.from, s.uid); err != nil {
		return nil, err
	}
	switch {
	case h.closed:
		return nil, refuse(ending, "%s ends", h.self)
	case h.leaving:
		return nil, refuse(leaving, "%s is leaving", h.self)
	}
	old := h.sessions[s.from]
	switch {
	case old == nil:
		s.succeeds = false
	case old.outlives(s):
		return nil, refuse(unwanted, "%s is heard as incarnation %d already, not as %d",
			s.from, old.incarnation, s.incarnation)
	case s.succeeds && s.isOfLife(old) && !isClosed(old.ended):
		if old.next != nil {
			old.next.end(refuse(unwanted, "%s opened a newer stream", s.from))
		}
		old.next, s.answers = s, old.answers
		return old, nil
	default:
		s.succeeds = false
		old.endAll(refuse(unwanted, "%s opened a newer stream", s.from))
	}
	h.sessions[s.from] = s
	if l := h.links[s.from]; l != nil {
		l.hurry()
	}
	return old, nil
}

// forget takes a session away that has said its last. The one that succeeds it takes its place.
func (h *hub) forget(s *session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch now := h.sessions[s.from]; {
	case now == s && s.next != nil:
		h.sessions[s.from] = s.next
	case now == s:
		delete(h.sessions, s.from)
	case now != nil && now.next == s:
		now.next = nil
	}
}

// left ends our link to a process that says it leaves.
func (h *hub) left(name string) {
	h.mu.Lock()
	l := h.links[name]
	h.mu.Unlock()
	if l != nil {
		l.peerLeft()
	}
}
