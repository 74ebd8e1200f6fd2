package lease

// holder is what a process does with the promises that it has.
type leaseholder struct {
	held     *tally             // it holds this epoch; nil: none
	sought   *tally             // it asks for this one: as a candidate, or beside the held one under a new generation (LH5)
	stepping *stepping          // it held, acts no more, and has not released yet (LH6)
	renew    Instant            // when the next round of claims is due
	raise    Instant            // before which it claims no higher ballot (LH9)
	asked    Epoch              // the highest that this life has ever claimed: none is claimed twice
	told     Instant            // until when the app may have been told that it may act, in leases that are over (LH6)
	clocks   Reading            // at the last round (LH7)
	steady   map[string]*steady // who has answered, and since when (P1)
}

// stepping is a lease that is being given back.
type stepping struct {
	epoch  Epoch // that it held
	last   Epoch // the highest that it has asked for
	heir   string
	roster *Roster
}

// Permission is what this process may do at this instant: act under the epoch until the deadline, on its own clock. To be
// checked at each use, with the clock read then (LH2).
func (m *Machine) Permission() (e Epoch, deadline Instant, ok bool) {
	if m.leaseholder.held == nil {
		return 0, 0, false
	}
	return m.leaseholder.held.epoch, m.leaseholder.held.deadline(), true
}

// claim asks for an epoch (C3, LH5).
func (m *Machine) seek(ballot int64) {
	if own := m.voter.Highest; m.voter.seated && own.Generation() == m.roster.Generation {
		ballot = max(ballot, own.Ballot()+1)
	}
	if m.leaseholder.asked.Generation() == m.roster.Generation { // a RELEASE of that one may still be under way
		ballot = max(ballot, m.leaseholder.asked.Ballot()+1)
	}
	m.candidacy.spent = ballot > MaxBallot
	if m.candidacy.spent { // the next generation begins anew: the manager is told (Word)
		m.candidacy.retry = m.now.Boot + m.t
		return
	}
	n := len(m.roster.Members)
	m.leaseholder.sought = &tally{epoch: NewEpoch(m.roster.Generation, ballot), lease: m.roster.Lease, roster: m.roster, since: m.now.Boot,
		promised: make([]Instant, n), denied: make([]bool, n), highest: make([]int64, n)}
	m.leaseholder.asked = m.leaseholder.sought.epoch
	m.askVotes(m.leaseholder.sought, Vote)
	if m.leaseholder.held == nil {
		m.leaseholder.renew = m.now.Boot + m.heartbeat
		m.settle() // it may be the only voter
	}
}

// askVotes sends a round of requests: VOTE to every voter, or RENEW to every member once the epoch is
// held (LH3).
func (m *Machine) askVotes(c *tally, k Kind) {
	m.round++
	c.rounds[m.round%uint64(len(c.rounds))] = round{number: m.round, sent: m.now.Boot}
	p := Request{Kind: k, Epoch: c.epoch, Round: m.round, Lease: c.lease}
	for _, q := range c.roster.Members {
		switch {
		case q.Name == m.self.Name && m.voter.seated:
			m.askSelf(p)
		case q.Name != m.self.Name && (q.Voter || k == Renew):
			m.send(q.Name, p)
		}
	}
}

// askSelf asks this process's own voter. Its vote counts when it is on the disk, as any other does.
func (m *Machine) askSelf(p Request) {
	if !m.vote(m.self, p) {
		return
	}
	v := Response{Kind: p.Kind, Epoch: p.Epoch, Round: p.Round, Granted: true}
	if m.disk.has(m.disk.promise) {
		m.voted(m.self, v)
		return
	}
	m.disk.hold(m.disk.promise, Reply{To: m.self.Name, Response: v})
}

// claimed takes a voter's answer to a claim.
func (m *Machine) voted(from Incarnation, v Response) {
	for _, c := range [...]*tally{m.leaseholder.held, m.leaseholder.sought} {
		if c != nil && c.epoch == v.Epoch {
			c.take(from, v)
		}
	}
}

// lapse is LH2 and LH4: a lease whose promises ran out is over.
func (m *Machine) lapse() {
	if m.leaseholder.held != nil && m.now.Boot >= m.leaseholder.held.deadline() {
		m.giveUp(m.leaseholder.held, m.leaseholder.sought)
		m.dropLease()
		m.rest()
		m.arm()
	}
}

// dropLease stops held at once, without a word: what the app was told has a deadline.
func (m *Machine) dropLease() {
	if m.leaseholder.held != nil {
		m.out.Withdraw = true
	}
	m.leave()
	m.leaseholder.sought, m.leaseholder.stepping = nil, nil
}

// leave ends what is acted under; what the app was told of it may run on.
func (m *Machine) leave() {
	if c := m.leaseholder.held; c != nil {
		m.leaseholder.told = max(m.leaseholder.told, c.deadline())
	}
	m.leaseholder.held = nil
}

// hold drives what this process holds and claims.
func (m *Machine) hold() {
	m.giveBack()
	h := &m.leaseholder
	if h.held != nil && m.now.disagrees(h.clocks) { // LH7
		m.stepDown("")
		m.rest()
	}
	if me, ok := m.roster.find(m.self.Name); h.held != nil && (!m.candidate || !ok || me.Priority == 0) { // LH5, LH8
		m.stepDown("")
	}
	if h.sought != nil && h.held == nil && (!m.isCandidate() || h.sought.roster != m.roster) {
		m.quit()
	}
	if h.held != nil && h.held.roster != m.roster && (h.sought == nil || h.sought.roster != m.roster) {
		m.seek(1) // LH5
		h.renew = m.now.Boot
	}
	if h.held != nil && h.sought == nil && m.now.Boot >= h.raise {
		if ballot := h.held.outbid(); ballot > 0 { // LH9
			h.raise = m.now.Boot + m.roster.Lease
			m.seek(ballot)
		}
	}
	m.settle()
	if h.held != nil && m.now.Boot >= h.renew {
		m.renew()
		m.settle()
	}
	if h.held != nil {
		m.preempt()
	}
}

// renew sends the next rounds (LH3).
func (m *Machine) renew() {
	h := &m.leaseholder
	h.renew, h.clocks = m.now.Boot+m.heartbeat, m.now
	m.askVotes(h.held, Renew)
	if h.sought != nil {
		m.askVotes(h.sought, Vote)
	}
}

// settle looks what has come of the epoch that is being claimed: C6, C7, LH5.
func (m *Machine) settle() {
	h := &m.leaseholder
	c := h.sought
	switch {
	case c == nil:
	case m.now.Boot < c.deadline():
		m.leave()
		h.held, h.sought = c, nil
		h.renew, h.clocks = m.now.Boot, m.now
		m.candidacy.reassured()
		m.follower = follower{epoch: max(m.follower.epoch, c.epoch), firm: max(m.follower.firm, c.epoch), over: m.follower.over}
		if m.nominated != m.self.Name {
			m.out.Appoint = m.self.Name
		}
		m.renew()
	case h.held != nil:
		if c.refused(true) {
			m.seek(c.ballot())
		}
	case c.refused(false), m.now.Boot-c.since >= c.lease:
		m.quit()
	case m.now.Boot >= h.renew: // C6: who is slow to sync it has synced it by now
		h.renew = m.now.Boot + m.heartbeat
		m.askVotes(c, Vote)
	}
}

// quit is C6: the next try comes after a while.
func (m *Machine) quit() {
	m.giveUp(m.leaseholder.sought, nil)
	m.leaseholder.sought = nil
	m.candidacy.retry = m.now.Boot + m.random(m.t)
}

// giveUp releases what nobody acts under any more. While the app may rely on what it was told in an earlier lease, the promises
// to this life are what keeps others from held (LH6): they run out by themselves.
func (m *Machine) giveUp(c, later *tally) {
	if m.now.Boot < m.leaseholder.told {
		return
	}
	if later != nil { // of the same roster or a newer one: who is on the older one only is bound by nothing that others need
		c = later
	}
	m.everyone(c.roster, Request{Kind: Release, Epoch: c.epoch})
	m.voter.release(m.self, c.epoch, m.now.Boot)
}

// stepDown is LH6: stop held, say so, wait for what the app was told, release.
func (m *Machine) stepDown(heir string) {
	h := &m.leaseholder
	m.out.Withdraw = true
	last := h.held
	if h.sought != nil {
		last = h.sought
	}
	h.stepping = &stepping{epoch: h.held.epoch, last: last.epoch, heir: heir, roster: last.roster}
	m.leave()
	h.sought = nil
	m.everyone(h.stepping.roster, Request{Kind: StepDown, Epoch: h.stepping.epoch, Heir: heir})
	m.arm()
	if s := h.steady[heir]; s != nil {
		m.await(heir)
		m.out.Appoint = heir
		s.offered, s.declined = 0, m.now.Boot+declineFor*m.t // should it come to nothing
	}
}

// told learns until when the app was told that it may act.
func (m *Machine) told(until Instant) {
	m.leaseholder.told = min(m.leaseholder.told, until)
}

// giveBack releases once nothing that the app was told is running any more (LH6).
func (m *Machine) giveBack() {
	r := m.leaseholder.stepping
	if r == nil || m.now.Boot < m.leaseholder.told {
		return
	}
	m.everyone(r.roster, Request{Kind: Release, Epoch: r.last, Heir: r.heir})
	m.voter.release(m.self, r.last, m.now.Boot)
	m.leaseholder.stepping = nil
}

// SteppingDown reports whether this process has stopped held and not released yet.
func (m *Machine) SteppingDown() bool { return m.leaseholder.stepping != nil }
