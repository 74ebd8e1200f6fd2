package lease

// holder is what a process does with the promises that it has.
type holder struct {
	acting    *claim             // it holds this epoch; nil: none
	claiming  *claim             // it asks for this one: as a nominee, or beside the acting one under a new generation (H5)
	resigning *resigning         // it held, acts no more, and has not released yet (H6)
	renew     Instant            // when the next round of claims is due
	raise     Instant            // before which it claims no higher ballot (H9)
	asked     Epoch              // the highest that this life has ever claimed: none is claimed twice
	told      Instant            // until when the app may have been told that it may act, in leases that are over (H6)
	clocks    Reading            // at the last round (H7)
	steady    map[string]*steady // who has answered, and since when (P1)
}

// resigning is a lease that is being given back.
type resigning struct {
	epoch  Epoch // that it held
	last   Epoch // the highest that it has asked for
	heir   string
	roster *Roster
}

// Permission is what this process may do at this instant: act under the epoch until the deadline, on its own clock. To be
// checked at each use, with the clock read then (H2).
func (m *Machine) Permission() (e Epoch, deadline Instant, ok bool) {
	if m.holder.acting == nil {
		return 0, 0, false
	}
	return m.holder.acting.epoch, m.holder.acting.deadline(), true
}

// claim asks for an epoch (N3, H5).
func (m *Machine) claim(ballot int64) {
	if own := m.voter.Highest; m.voter.seated && own.Generation() == m.roster.Generation {
		ballot = max(ballot, own.Ballot()+1)
	}
	if m.holder.asked.Generation() == m.roster.Generation { // a RELEASE of that one may still be under way
		ballot = max(ballot, m.holder.asked.Ballot()+1)
	}
	m.nominee.spent = ballot > MaxBallot
	if m.nominee.spent { // the next generation begins anew: the manager is told (Word)
		m.nominee.retry = m.now.Boot + m.t
		return
	}
	n := len(m.roster.Members)
	m.holder.claiming = &claim{epoch: NewEpoch(m.roster.Generation, ballot), lease: m.roster.Lease, roster: m.roster, since: m.now.Boot,
		promised: make([]Instant, n), denied: make([]bool, n), highest: make([]int64, n)}
	m.holder.asked = m.holder.claiming.epoch
	m.request(m.holder.claiming, false)
	if m.holder.acting == nil {
		m.holder.renew = m.now.Boot + m.heartbeat
		m.settle() // it may be the only voter
	}
}

// request sends a round of claims: to every voter, and once it is held to every member (H3).
func (m *Machine) request(c *claim, held bool) {
	m.round++
	c.rounds[m.round%uint64(len(c.rounds))] = round{number: m.round, sent: m.now.Boot}
	p := Request{Kind: Vote, Epoch: c.epoch, Round: m.round, Lease: c.lease, Held: held}
	for _, q := range c.roster.Members {
		switch {
		case q.Name == m.self.Name && m.voter.seated:
			granted, changed := m.voter.promise(m.roster, m.self, p, m.now.Boot)
			m.out.Sync = m.out.Sync || changed
			if granted {
				m.claimed(m.self, Response{Kind: Vote, Epoch: p.Epoch, Round: p.Round, Granted: true})
			}
		case q.Name != m.self.Name && (q.Voter || held):
			m.send(q.Name, p)
		}
	}
}

// claimed takes a voter's answer to a claim.
func (m *Machine) claimed(from Incarnation, v Response) {
	for _, c := range [...]*claim{m.holder.acting, m.holder.claiming} {
		if c != nil && c.epoch == v.Epoch {
			c.take(from, v)
		}
	}
}

// lapse is H2 and H4: a lease whose promises ran out is over.
func (m *Machine) lapse() {
	if m.holder.acting != nil && m.now.Boot >= m.holder.acting.deadline() {
		m.giveUp(m.holder.acting, m.holder.claiming)
		m.dropLease()
		m.rest()
		m.arm()
	}
}

// dropLease stops acting at once, without a word: what the app was told has a deadline.
func (m *Machine) dropLease() {
	if m.holder.acting != nil {
		m.out.Stopped = true
	}
	m.leave()
	m.holder.claiming, m.holder.resigning = nil, nil
}

// leave ends what is acted under; what the app was told of it may run on.
func (m *Machine) leave() {
	if c := m.holder.acting; c != nil {
		m.holder.told = max(m.holder.told, c.deadline())
	}
	m.holder.acting = nil
}

// hold drives what this process holds and claims.
func (m *Machine) hold() {
	m.giveBack()
	h := &m.holder
	if h.acting != nil && m.now.disagrees(h.clocks) { // H7
		m.stepDown("")
		m.rest()
	}
	if me, ok := m.roster.find(m.self.Name); h.acting != nil && (!m.candidate || !ok || me.Priority == 0) { // H5, H8
		m.stepDown("")
	}
	if h.claiming != nil && h.acting == nil && (!m.stands() || h.claiming.roster != m.roster) {
		m.quit()
	}
	if h.acting != nil && h.acting.roster != m.roster && (h.claiming == nil || h.claiming.roster != m.roster) {
		m.claim(1) // H5
		h.renew = m.now.Boot
	}
	if h.acting != nil && h.claiming == nil && m.now.Boot >= h.raise {
		if ballot := h.acting.outbid(); ballot > 0 { // H9
			h.raise = m.now.Boot + m.roster.Lease
			m.claim(ballot)
		}
	}
	m.settle()
	if h.acting != nil && m.now.Boot >= h.renew {
		m.renew()
		m.settle()
	}
	if h.acting != nil {
		m.preempt()
	}
}

// renew sends the next rounds (H3).
func (m *Machine) renew() {
	h := &m.holder
	h.renew, h.clocks = m.now.Boot+m.heartbeat, m.now
	m.request(h.acting, true)
	if h.claiming != nil {
		m.request(h.claiming, false)
	}
}

// settle looks what has come of the epoch that is being claimed: N6, N7, H5.
func (m *Machine) settle() {
	h := &m.holder
	c := h.claiming
	switch {
	case c == nil:
	case m.now.Boot < c.deadline():
		m.leave()
		h.acting, h.claiming = c, nil
		h.renew, h.clocks = m.now.Boot, m.now
		m.nominee.reassured()
		m.follower = follower{epoch: max(m.follower.epoch, c.epoch), firm: max(m.follower.firm, c.epoch), over: m.follower.over}
		if m.nominated != m.self.Name {
			m.out.Appoint = m.self.Name
		}
		m.renew()
	case h.acting != nil:
		if c.refused(true) {
			m.claim(c.ballot())
		}
	case c.refused(false), m.now.Boot-c.since >= c.lease:
		m.quit()
	case m.now.Boot >= h.renew: // N6: who is slow to sync it has synced it by now
		h.renew = m.now.Boot + m.heartbeat
		m.request(c, false)
	}
}

// quit is N6: the next try comes after a while.
func (m *Machine) quit() {
	m.giveUp(m.holder.claiming, nil)
	m.holder.claiming = nil
	m.nominee.retry = m.now.Boot + m.random(m.t)
}

// giveUp releases what nobody acts under any more. While the app may rely on what it was told in an earlier lease, the promises
// to this life are what keeps others from acting (H6): they run out by themselves.
func (m *Machine) giveUp(c, later *claim) {
	if m.now.Boot < m.holder.told {
		return
	}
	if later != nil { // of the same roster or a newer one: who is on the older one only is bound by nothing that others need
		c = later
	}
	m.everyone(c.roster, Request{Kind: Release, Epoch: c.epoch})
	m.voter.release(m.self, c.epoch, m.now.Boot)
}

// stepDown is H6: stop acting, say so, wait for what the app was told, release.
func (m *Machine) stepDown(heir string) {
	h := &m.holder
	m.out.Stopped = true
	last := h.acting
	if h.claiming != nil {
		last = h.claiming
	}
	h.resigning = &resigning{epoch: h.acting.epoch, last: last.epoch, heir: heir, roster: last.roster}
	m.leave()
	h.claiming = nil
	m.everyone(h.resigning.roster, Request{Kind: StepDown, Epoch: h.resigning.epoch, Heir: heir})
	m.arm()
	if s := h.steady[heir]; s != nil {
		m.await(heir)
		m.out.Appoint = heir
		s.offered, s.declined = 0, m.now.Boot+declineFor*m.t // should it come to nothing
	}
}

// told learns until when the app was told that it may act.
func (m *Machine) told(until Instant) {
	m.holder.told = min(m.holder.told, until)
}

// giveBack releases once nothing that the app was told is running any more (H6).
func (m *Machine) giveBack() {
	r := m.holder.resigning
	if r == nil || m.now.Boot < m.holder.told {
		return
	}
	m.everyone(r.roster, Request{Kind: Release, Epoch: r.last, Heir: r.heir})
	m.voter.release(m.self, r.last, m.now.Boot)
	m.holder.resigning = nil
}

// Resigning reports whether this process has stopped acting and not released yet.
func (m *Machine) Resigning() bool { return m.holder.resigning != nil }
