package lease

// ending is a lease that ended by a STEP DOWN (F3).
type ending struct {
	of    Incarnation
	epoch Epoch
}

// includes reports whether an epoch that somebody says is held by a process of this name has ended.
func (e ending) includes(name string, epoch Epoch) bool {
	return name == e.of.Name && epoch <= e.epoch
}

// steppedDown handles a STEP DOWN (F3). Without an heir the election begins when the process that
// stepped down says so, or when its silence is noticed.
func (m *Machine) steppedDown(from Incarnation, p Request) {
	f := &m.follower
	follows := f.leaseholder == from || f.hearsay && f.leaseholder.Name == from.Name
	if !follows || f.epoch > p.Epoch {
		return
	}
	f.ended = ending{from, f.epoch}
	f.forgetLeaseholder()
	m.candidacy.preVote.purpose = noPreVote // what it asks about is out of date
	m.endPause()
	m.postponeFallback()
	if p.Heir == m.self.Name && !m.isCandidate() { // it has withdrawn since its last answer
		return
	}
	if heir, ok := m.roster.find(p.Heir); ok && heir.Priority > 0 {
		m.awaitHeir(heir.Name)
		if m.nominated != heir.Name {
			m.out.Appoint, m.out.Predecessor = heir.Name, from.Name
		}
	}
}

// released handles a RELEASE: a candidate that waits for promises to run out asks again at once
// (C4).
func (m *Machine) released(from Incarnation, p Request) {
	m.steppedDown(from, p)
	if m.follower.ended.of == from {
		m.heirMayVote(p.Heir)
	}
	c := &m.candidacy
	c.releasedAt = m.now.Boot
	if c.waits && c.preVote.purpose == noPreVote {
		c.retryAt = m.now.Boot
	}
}

// awaitHeir gives the heir as long as the promises to the last leaseholder may run (F3).
func (m *Machine) awaitHeir(heir string) {
	f := &m.follower
	f.heir, f.heirLatest = heir, m.now.Boot+m.roster.Lease+m.t
	f.heirUntil = f.heirLatest
}

// heirMayVote notes that the promises to the last leaseholder are released: from now on the heir
// must ask for votes.
func (m *Machine) heirMayVote(heir string) {
	if f := &m.follower; heir != "" && f.heir == heir {
		f.heirUntil = min(f.heirLatest, m.now.Boot+heirSilence*max(m.t, m.heartbeat))
	}
}

// heirAsks notes that an heir asks for votes: after the RELEASE, it has as much time again.
func (m *Machine) heirAsks(from string) {
	if m.follower.heirUntil < m.follower.heirLatest {
		m.heirMayVote(from)
	}
}

// giveUpHeir suspects an heir that has not taken over in time (F3).
func (m *Machine) giveUpHeir() {
	f, now := &m.follower, m.now.Boot
	if f.heir == "" || now < f.heirUntil {
		return
	}
	promisedTo, _ := m.voter.runningPromise(now)
	switch {
	case now-f.heirUntil > m.t/2: // this process itself stood still: its RENEW may lie unread
		f.heirUntil = now + m.t
		return
	case promisedTo.Name == f.heir && now < f.heirLatest: // nobody else would get this vote
		f.heirUntil = min(m.voter.until, f.heirLatest)
		return
	case f.heir == m.nominated && f.heir != m.self.Name && m.knowsNoLeaseholder():
		m.out.Suspect = f.heir
	}
	f.heir = ""
}

// awaitsHeir reports whether this process waits for a process as the heir (F3).
func (m *Machine) awaitsHeir(name string) bool {
	return name != "" && m.follower.heir == name && m.now.Boot < m.follower.heirUntil
}
