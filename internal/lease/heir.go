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
	if p.Heir == m.self.Name && !m.isCandidate() { // it has withdrawn since its TAKE OVER
		return
	}
	if heir, ok := m.roster.find(p.Heir); ok && heir.Priority > 0 {
		m.awaitHeir(heir.Name)
		if m.nominated != heir.Name {
			m.out.Appoint = heir.Name
		}
	}
}

// released handles a RELEASE: a candidate that waits for promises to run out asks again at once
// (C4).
func (m *Machine) released(from Incarnation, p Request) {
	m.steppedDown(from, p)
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

// awaitsHeir reports whether this process waits for a process as the heir (F3).
func (m *Machine) awaitsHeir(name string) bool {
	return name != "" && m.follower.heir == name && m.now.Boot < m.follower.heirUntil
}
