package lease

// LH4. A lease that lapsed is over: its epoch is never used again, even if a response arrives late.
// But the voters are bound to the leaseholder for longer than it may act. So it asks them at once
// whether they would promise again (C1), and if a majority would, it seeks a new epoch: a short stop
// of its own machine, or of theirs, need not change the leader. It asks if it seeks no other epoch
// already, if it has led for two of the longest leases, and if none of its leases lapsed in that
// time: a process that stops every now and then must not keep the lease without ever using it.
//
// If it does not ask, or no majority would promise, it releases what voters may still have promised,
// and withdraws its candidacy for a random 4 to 8 T if another process may coordinate. It does not
// rest for rivals none of which has answered for a lease, while it has not stood still itself: they
// are dead, and it is needed when one of them is back.

// lapsed is a lease that has lapsed, while its leaseholder asks for it again. It is never changed.
type lapsed struct {
	tally *tally // of the last epoch that it held, or sought since: to release it releases all
	rival bool // another process may coordinate: it rests if it asks in vain
}

// steady is for how many of the longest leases a process has led, without a lapse, before it asks
// again for a lease that has lapsed.
const steady = 2

// lapse ends a lease whose promises have run out.
func (m *Machine) lapse() {
	l := &m.leaseholder
	if l.held == nil || m.now.Boot < l.held.deadline {
		return
	}
	held, sought, again := l.held, l.sought, m.mayAskAgain()
	rival := m.roster.hasRival(m.self.Name) && held.mayHaveRival(m.self.Name, m.now.Boot)
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
	return l.sought == nil && l.held.renewed-since >= steady*m.roster.Lease
}

// askedInVain withdraws a process that does not ask any more for the lease that lapsed.
func (m *Machine) askedInVain() {
	l := &m.leaseholder
	if l.lapsed == nil || l.sought != nil || m.candidacy.preVote.purpose == nomination {
		return
	}
	m.release(l.lapsed.tally, nil)
	m.withdraw(l.lapsed.rival)
	l.lapsed = nil
}
