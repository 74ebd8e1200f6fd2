package lease

// Preemption: a process of higher priority takes over from a living leaseholder.
//
// PR1. Only the leaseholder begins it. From the responses it knows since when each process has
// answered without a gap longer than T and two heartbeats, in one incarnation, as a candidate.
// (Of several such processes the highest may have been stable for less long than another one. Then
// the lease climbs step by step, one stable time a step.)
//
// PR2. Under Always, a process of higher priority may take over if it answers. Under Delayed, it
// must have answered for the stable time. Under Never, no process may. Equals do not depose each
// other: names order them only when nobody leads. Of several the leaseholder picks the highest, but
// nobody for T and two heartbeats after it began to lead with the voters that it has: a higher one
// may not have answered yet (LH8), and would take over from the first. An epoch that changes in
// place with the same voters makes no difference: else a voter that lies could keep the lease where
// it is (LH9).
//
// PR3. The leaseholder sends TRANSFER. The higher process sends a PREVOTE to the voters. If a
// majority would support it provided that the leaseholder released (they answer, use its
// generation, and their promise is to the leaseholder or to nobody), it sends TAKE OVER.
//
// PR4. On TAKE OVER the leaseholder checks PR2 again and steps down (LH6) with that process as its
// heir. Every process's election algorithm is told to nominate the heir, which asks for votes when
// the RELEASE arrives.
//
// PR5. A process that gets a TRANSFER and is not a candidate, or that does not send TAKE OVER
// within 2 T, is not offered the lease again for 10 T.

// peer is what the leaseholder knows of another process (PR1, LH8).
type peer struct {
	incarnation   uint64
	stableSince   Instant // it has answered without a gap from then to lastResponse
	lastResponse  Instant
	candidate     bool
	unlinked      bool    // the link to it has been closed since
	offeredAt     Instant // when it was sent a TRANSFER that has not ended; 0: there is none
	declinedUntil Instant // until when it is sent no other
}

// decline ends a TRANSFER: there is no other one before an instant (PR5).
func (p *peer) decline(until Instant) { p.offeredAt, p.declinedUntil = 0, until }

// noteResponse notes that a process answers the leaseholder (PR1).
func (m *Machine) noteResponse(from Incarnation, v Response) {
	l := &m.leaseholder
	if l.held == nil || from.Name == m.self.Name || m.roster.indexOf(from) < 0 {
		return
	}
	p := l.peers[from.Name]
	if p == nil {
		p = &peer{}
		if l.peers == nil {
			l.peers = map[string]*peer{}
		}
		l.peers[from.Name] = p
	}
	gap := m.now.Boot - p.lastResponse
	if p.incarnation != from.Number || p.candidate != v.Candidate || gap > m.answerTimeout() {
		*p = peer{
			incarnation:   from.Number,
			stableSince:   m.now.Boot,
			declinedUntil: p.declinedUntil,
		}
	}
	p.lastResponse, p.candidate, p.unlinked = m.now.Boot, v.Candidate, false
}

// preempt offers the lease to the highest process that may take over (PR2, PR3, PR5).
func (m *Machine) preempt() {
	l := &m.leaseholder
	if l.held.roster != m.roster { // it seeks an epoch of the new generation first
		return
	}
	if m.answersAreMissing(l.votersSince) {
		return
	}
	var highest *Member
	for i := range m.roster.Members {
		q := &m.roster.Members[i]
		p := l.peers[q.Name]
		switch {
		case p == nil:
		case p.offeredAt != 0 && m.now.Boot-p.offeredAt < transferTimeout*m.t:
			return // one TRANSFER at a time
		case p.offeredAt != 0:
			p.decline(m.now.Boot + transferPause*m.t)
		case m.now.Boot >= p.declinedUntil && m.mayTakeOver(q, p) &&
			(highest == nil || q.outranks(*highest)):
			highest = q
		}
	}
	if highest != nil {
		m.round++
		l.peers[highest.Name].offeredAt = m.now.Boot
		m.send(highest.Name, Request{
			Kind:  Transfer,
			Epoch: l.held.epoch,
			Round: m.round,
		})
	}
}

// answers reports whether a process answers the leaseholder, as a candidate (PR1).
func (m *Machine) answers(p *peer) bool {
	return p.candidate && m.now.Boot-p.lastResponse <= m.answerTimeout()
}

// mayTakeOver reports whether the policy lets a process take over (PR2).
func (m *Machine) mayTakeOver(q *Member, p *peer) bool {
	if m.roster.Preemption == Never || q.Priority <= m.me.Priority {
		return false
	}
	stable := p.lastResponse - p.stableSince
	return m.answers(p) && (m.roster.Preemption == Always || stable >= m.roster.Stable)
}

// offered handles a TRANSFER (PR3).
func (m *Machine) offered(e *Event) {
	from, p := e.From, e.Request
	leaseholder, _ := m.roster.find(from.Name)
	considers := m.isCandidate() && m.roster.voters() > 0 && m.me.Priority > leaseholder.Priority &&
		m.follower.leaseholder == from && m.follower.epoch == p.Epoch
	m.reply(e, considers, 0)
	if considers && m.candidacy.preVote.purpose == noPreVote {
		m.startPreVote(transfer, from, p.Epoch)
	}
}

// transferAnswered ends a TRANSFER to a process that is not a candidate (PR5).
func (m *Machine) transferAnswered(from Incarnation, v Response) {
	if p := m.leaseholder.peers[from.Name]; p != nil && !v.Granted && p.offeredAt != 0 {
		p.decline(m.now.Boot + transferPause*m.t)
	}
}

// takenOver handles a TAKE OVER (PR4).
func (m *Machine) takenOver(from Incarnation, r Request) {
	l := &m.leaseholder
	i, p := m.roster.indexOf(from), l.peers[from.Name]
	if l.held == nil || l.held.epoch != r.Epoch || i < 0 || p == nil || p.offeredAt == 0 ||
		!m.mayTakeOver(&m.roster.Members[i], p) {
		return
	}
	m.stepDown(from.Name)
}
