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
	m.follower.heir, m.follower.heirUntil = heir, m.now.Boot+m.roster.Lease+m.t
}

// heirMayVote gives the heir 2 T from now on: the promises to the last leaseholder are released.
func (m *Machine) heirMayVote(heir string) {
	if f := &m.follower; heir != "" && f.heir == heir {
		f.heirUntil = min(f.heirUntil, m.now.Boot+transferTimeout*m.t)
	}
}

// giveUpHeir suspects an heir that has not taken over in time (F3).
func (m *Machine) giveUpHeir() {
	f := &m.follower
	if f.heir == "" || m.now.Boot < f.heirUntil {
		return
	}
	if f.heir == m.nominated && f.heir != m.self.Name && m.knowsNoLeaseholder() {
		m.out.Suspect = f.heir
	}
	f.heir = ""
}

// awaitsHeir reports whether this process waits for a process as the heir (F3).
func (m *Machine) awaitsHeir(name string) bool {
	return name != "" && m.follower.heir == name && m.now.Boot < m.follower.heirUntil
}
