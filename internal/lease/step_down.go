package lease

// LH6. Stepping down takes four steps. The leaseholder stops acting: it hands out no permission any
// more, and gives up an epoch that it seeks beside the one it holds. It sends STEP DOWN. It waits
// until every deadline that its app was told has passed; what the app was told over a session that
// it has closed itself no longer counts. It sends RELEASE of the highest epoch that it has sought,
// to the members of that epoch's roster. Nothing is ever released before every deadline has passed
// that this incarnation told its app in any lease: until then the promises are what keeps others
// from acting.

// steppingDown is a lease that has ended and is not yet released (LH6).
type steppingDown struct {
	epoch   Epoch // that was held
	highest Epoch // that was sought
	heir    string
	roster  *Roster // of the highest epoch
}

// SteppingDown reports whether this process has stopped acting and has not sent RELEASE yet (LH6).
func (m *Machine) SteppingDown() bool { return m.leaseholder.steppingDown != nil }

// successor returns the highest other candidate that has answered the leaseholder within the last
// lease, and of equals the one whose pod is youngest (LH8); empty if there is none, or if a higher
// one may not have had the time to answer yet.
func (m *Machine) successor() string {
	l := &m.leaseholder
	var highest Member
	if m.answersAreMissing(l.leadsSince) {
		return ""
	}
	for _, q := range m.roster.Members {
		p := l.peers[q.Name]
		if p == nil || q.Name == m.self.Name || q.Priority == 0 || m.now.Boot < p.declinedUntil {
			continue
		}
		present := m.answers(p) && !p.unlinked && m.now.Boot-p.lastResponse <= l.length.lease
		if present && (highest.Name == "" || q.succeedsBefore(highest)) {
			highest = q
		}
	}
	return highest.Name
}

// stepDown stops acting and sends STEP DOWN; finishStepDown does the rest (LH6).
func (m *Machine) stepDown(heir string) {
	l := &m.leaseholder
	m.out.Revoke = true
	last := l.held
	if l.sought != nil {
		last = l.sought
	}
	l.steppingDown = &steppingDown{
		epoch:   l.held.epoch,
		highest: last.epoch,
		heir:    heir,
		roster:  last.roster,
	}
	m.stopActing()
	l.sought = nil
	s := l.steppingDown
	m.broadcast(s.roster, Request{
		Kind:  StepDown,
		Epoch: s.epoch,
		Heir:  heir,
	})
	m.postponeFallback()
	if p := l.peers[heir]; p != nil {
		m.awaitHeir(heir)
		m.out.Appoint, m.out.Predecessor = heir, m.self.Name
		p.decline(m.now.Boot + transferPause*m.t) // in case the heir does not become leaseholder
	}
}

// finishStepDown sends RELEASE once nothing that the app was told is running any more (LH6).
func (m *Machine) finishStepDown() {
	s := m.leaseholder.steppingDown
	if s == nil || m.now.Boot < m.leaseholder.toldUntil {
		return
	}
	m.giveBack(s.roster, s.highest, s.heir)
	m.heirMayVote(s.heir)
	m.leaseholder.steppingDown = nil
}

// release gives back an epoch without stepping down first, and with it later, if that is not nil:
// an epoch that was sought beside it. While the app may rely on what it was told in an earlier
// lease nothing is released (LH6); then the promises run out by themselves.
func (m *Machine) release(t, later *tally) {
	if m.now.Boot < m.leaseholder.toldUntil {
		return
	}
	if later != nil {
		// Its roster is the same or a newer one. Members of the older roster only are bound by
		// nothing that others need.
		t = later
	}
	m.giveBack(t.roster, t.epoch, "")
}

// giveBack sends RELEASE to the members of the epoch's roster, and releases this process's own
// promise.
func (m *Machine) giveBack(r *Roster, e Epoch, heir string) {
	p := Request{
		Kind:  Release,
		Epoch: e,
		Heir:  heir,
		Group: m.roster.Group,
	}
	m.out.Release = &p
	m.broadcast(r, p)
	m.voter.release(m.self, e, m.now.Boot)
}
