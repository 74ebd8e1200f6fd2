package lease

// steady is what the holder knows of a process from its responses (P1).
type steady struct {
	life        uint64  // incarnation
	since, last Instant // it has answered without a gap from since to last
	candidate   bool
	offered     Instant // when it was offered the lease; 0: it was not
	declined    Instant // until when it is not offered again
}

// answered notes that a process answers the holder (P1).
func (m *Machine) answered(from Incarnation, v Response) {
	h := &m.leaseholder
	if h.held == nil || from.Name == m.self.Name {
		return
	}
	if m.roster.place(from) < 0 {
		return
	}
	s := h.steady[from.Name]
	if s == nil {
		s = &steady{}
		if h.steady == nil {
			h.steady = map[string]*steady{}
		}
		h.steady[from.Name] = s
	}
	if s.life != from.Number || s.candidate != v.Candidate || m.now.Boot-s.last > m.silence() {
		*s = steady{life: from.Number, since: m.now.Boot, declined: s.declined}
	}
	s.last, s.candidate = m.now.Boot, v.Candidate
}

// preempt offers the lease to the highest process that may have it (P2, P3, P5).
func (m *Machine) preempt() {
	h := &m.leaseholder
	if h.held.roster != m.roster { // a new generation first
		return
	}
	var best *Member
	for i := range m.roster.Members {
		q := &m.roster.Members[i]
		s := h.steady[q.Name]
		switch {
		case s == nil:
		case s.offered != 0 && m.now.Boot-s.offered < offerFor*m.t:
			return // one at a time
		case s.offered != 0:
			s.offered, s.declined = 0, m.now.Boot+declineFor*m.t
		case m.now.Boot >= s.declined && m.mayTakeOver(*q) && (best == nil || q.outranks(*best)):
			best = q
		}
	}
	if best != nil {
		m.round++
		h.steady[best.Name].offered = m.now.Boot
		m.send(best.Name, Request{Kind: Transfer, Epoch: h.held.epoch, Round: m.round})
	}
}

// mayTakeOver is P2.
func (m *Machine) mayTakeOver(q Member) bool {
	s := m.leaseholder.steady[q.Name]
	me, _ := m.roster.find(m.self.Name)
	if s == nil || m.roster.Preemption == Never || q.Priority == 0 || !q.outranks(me) || q.Name == me.Name {
		return false
	}
	answers := s.candidate && m.now.Boot-s.last <= m.silence()
	return answers && (m.roster.Preemption == Always || s.last-s.since >= m.roster.Stable)
}

// offered: the holder asks this process to take over (P3).
func (m *Machine) offered(e Event) {
	from, p := e.From, e.Request
	me, _ := m.roster.find(m.self.Name)
	holder, _ := m.roster.find(from.Name)
	considers := m.isCandidate() && me.outranks(holder) && m.follower.known == from && m.follower.epoch == p.Epoch
	m.reply(e, considers, 0)
	if considers && m.candidacy.preVote.purpose == idle {
		m.askPreVotes(succeed, from, p.Epoch)
	}
}

// considered: a process that is no candidate is not waited for (P5).
func (m *Machine) considered(from Incarnation, v Response) {
	if s := m.leaseholder.steady[from.Name]; s != nil && !v.Granted && s.offered != 0 {
		s.offered, s.declined = 0, m.now.Boot+declineFor*m.t
	}
}

// takenOver is P4: the process that was offered the lease has a majority's support.
func (m *Machine) takenOver(from Incarnation, p Request) {
	h := &m.leaseholder
	i, s := m.roster.place(from), h.steady[from.Name]
	if h.held == nil || h.held.epoch != p.Epoch || i < 0 || s == nil || s.offered == 0 || !m.mayTakeOver(m.roster.Members[i]) {
		return
	}
	m.stepDown(from.Name)
}
