package lease

// requested handles a request of another process.
func (m *Machine) requested(e *Event) {
	from, p := e.From, e.Request
	if m.roster == nil || from.Name == m.self.Name || p.Group != m.roster.Group {
		return
	}
	switch p.Kind { // a process that has left the roster may still have promises to give back
	case StepDown:
		m.steppedDown(from, p)
		return
	case Release:
		m.voter.release(from, p.Epoch, m.now.Boot)
		m.released(from, p)
		return
	default:
	}
	q, ok := m.roster.find(from.Name)
	if !ok || q.UID != from.UID {
		return
	}
	if p.Kind == PreVote || p.Kind == Vote {
		m.heirAsks(from.Name)
	}
	switch p.Kind {
	case PreVote: // V9
		m.asked(q)
		would := m.voter.wouldPromise(m.roster, from, p.Epoch.Generation(), m.now.Boot)
		m.reply(e, would && !m.disk.failed(), 0)
	case Vote, Renew:
		granted := m.vote(from, p)
		if p.Kind == Renew {
			m.heardRenewal(from, p, granted)
		}
		m.reply(e, granted, m.disk.grantOf(p.Epoch, m.voter.Highest))
	case Transfer:
		m.offered(e)
	case TakeOver:
		m.takenOver(from, p)
	default:
	}
}

// vote lets the voter decide about a VOTE or a RENEW. A grant may be sent, and the own vote
// counted, once the promise is on the disk (V11).
func (m *Machine) vote(from Incarnation, p Request) (granted bool) {
	if m.disk.failed() || m.disk.behind() && !m.voter.renews(from, p, m.now.Boot) {
		return false
	}
	granted, changed := m.voter.promise(m.roster, from, p, m.now.Boot)
	if changed {
		m.disk.change()
		m.disk.promise = m.disk.version
	}
	return granted
}

// reply responds to a request. A grant waits until the State of a version is on the disk.
func (m *Machine) reply(e *Event, granted bool, version uint64) {
	r := Reply{
		To:       e.From.Name,
		ReplyTo:  e.ReplyTo,
		Response: m.response(e.Request, granted),
	}
	if !granted || m.disk.has(version) {
		m.out.Replies = append(m.out.Replies, r)
		return
	}
	m.disk.hold(version, r)
}

// response returns what this voter has decided, and all that a requester may need to know.
func (m *Machine) response(p Request, granted bool) Response {
	v := Response{
		Kind:       p.Kind,
		Epoch:      p.Epoch,
		Round:      p.Round,
		Granted:    granted,
		Candidate:  m.isCandidate(),
		Generation: m.voter.Generation,
		Highest:    m.voter.Highest,
	}
	to, remaining := m.voter.runningPromise(m.now.Boot)
	v.Holder, v.HolderEpoch, v.Remaining = to.Name, m.voter.Highest, remaining
	if holder, epoch, ok := m.heardLeaseholder(); ok {
		v.Holder, v.HolderEpoch, v.Heard = holder, epoch, true
	}
	return v
}

// responded handles the response of another process. Each rule decides for itself whether that
// process counts: during a change of roster the members of two rosters do (LH5).
func (m *Machine) responded(from Incarnation, v Response) {
	if m.roster == nil {
		return
	}
	switch v.Kind {
	case PreVote:
		m.preVoted(from, v)
	case Vote, Renew:
		m.voted(from, v)
		m.noteResponse(from, v)
	case Transfer:
		m.transferAnswered(from, v)
	default:
	}
}

// send addresses a request to a process.
func (m *Machine) send(to string, p Request) {
	p.Group = m.roster.Group
	m.out.Requests = append(m.out.Requests, Addressed{To: to, Request: p})
}

// broadcast sends a request to all other processes of a roster.
func (m *Machine) broadcast(r *Roster, p Request) {
	for _, q := range r.Members {
		if q.Name != m.self.Name {
			m.send(q.Name, p)
		}
	}
}
