package lease

// LH4. A lease that lapsed is over: its epoch is never used again, even if a response arrives
// late. But voters are bound to a leaseholder for longer than it may act. So it asks them at once
// whether they would promise again (C1), and if a majority would, it seeks a new epoch: a short
// stop of its own machine, or of theirs, need not change the leader. It asks if it seeks no other
// epoch already and its clocks agree, if it has led for as long as the longest lease, and if none
// of its leases lapsed in that time: a process that stops every now and then must not keep the
// lease without ever using it.
//
// If it does not ask, or its first attempt fails, it releases what voters may still have promised,
// and withdraws its candidacy for a random 4 to 8 T if another process may coordinate. The attempt
// fails if no majority would promise or promises, if this process is no candidate any more, and if
// a roster comes meanwhile. It does not rest for rivals none of which has answered for a lease,
// while it has not stood still itself: they are dead, and it is needed when one of them is back.

// lapsed is a lease that has lapsed, while its leaseholder asks for it again. It is never changed.
type lapsed struct {
	tally *tally // of the epoch that it held, or of the one that it has sought since
	rival bool   // another process may coordinate: it rests if it asks in vain
}

// lapse ends a lease whose promises have run out.
func (m *Machine) lapse() {
	l := &m.leaseholder
	if l.held == nil || m.now.Boot < l.held.deadline {
		return
	}
	held, sought, again := l.held, l.sought, m.mayAskAgain()
	rival := m.roster.hasRival(m.self.Name) && held.mayHaveRival(m.self.Name, m.now.Boot)
	m.out.Delay = m.delayed(held, held.renewed, held.deadline)
	m.out.Delay.Lapsed = true
	l.lapsedAt = m.now.Boot
	l.length.lapsed(held.renewed)
	if m.roster.majority() == 1 { // it may hear from nobody, and need not
		l.length.reached(m.roster, m.now.Boot)
	}
	m.dropLease()
	if again {
		l.lapsed = &lapsed{held, rival}
		m.startPreVote(nomination, Incarnation{}, 0)
	} else {
		m.release(held, sought)
		m.withdraw(rival)
	}
	m.postponeFallback()
}

// mayAskAgain reports whether a leaseholder whose lease lapses asks for it again.
func (m *Machine) mayAskAgain() bool {
	l := &m.leaseholder
	since := max(l.leadsSince, l.lapsedAt)
	return l.sought == nil && !m.clocks.jumped && l.held.renewed-since >= m.roster.Lease
}

// askedInVain gives a lease that lapsed back when this process does not ask for it any more.
func (m *Machine) askedInVain() {
	l, c := &m.leaseholder, &m.candidacy
	asks := l.sought != nil || c.preVote.purpose == nomination
	if l.lapsed == nil || asks && m.isCandidate() {
		return
	}
	if asks {
		c.preVote.purpose = noPreVote
	}
	retryAt := c.retryAt
	m.release(l.lapsed.tally, nil)
	m.withdraw(l.lapsed.rival)
	if m.follower.leaseholder.Name != "" { // about that one it asks as anybody does (C8)
		c.retryAt = retryAt
	}
	l.lapsed = nil
}
