package lease

import "time"

// The leaseholder is the process that a majority of the voters has promised an epoch to. seek.go
// asks for votes and renewals; tally.go (LH1), lapse.go (LH4), step_down.go (LH6), clocks.go (LH7),
// outbid.go (LH9) and length.go (LH10) have the other rules.
//
// LH2. The leaseholder may act until the deadline: the latest instant that the windows of a
// majority reach. This is checked at each use, with the clock read then. No timer is relied on.
//
// LH3. It renews every heartbeat, which LH10 sets, at every member, whatever process is nominated.
//
// LH5. After a new generation the leaseholder seeks a new epoch beside the one that it holds: it
// goes on renewing the old one, at its own voter, too (V4), while votes for the new one arrive.
// When a majority of the new roster's voters has promised the new epoch, the leaseholder's epoch
// changes in place. Votes that take longer than three renewals wait for slow disks. Meanwhile the
// renewals are for the longest lease, because a voter that gets yet another roster denies them. But
// a voter that has the new roster denies more than that allows, so they ask for no more. If the new
// roster gives this process priority 0, it steps down. If it leaves this process out, the lease is
// dropped: the promises run out by themselves.
//
// LH8. A leaseholder whose candidacy ends steps down: its app is unhealthy, it leaves, its roster
// gives it priority 0, or its clocks disagree. Its heir is the highest candidate that has answered
// it within the last lease, whose link has not been closed since, and that has not just failed to
// take over (PR5). Of equals it is the one whose pod was made last, because a rollout ends the
// older ones. If there is none, it names no heir, and an election follows. Nor does it name one for
// T and two heartbeats after it took the lease: a higher candidate may not have answered yet. (A
// new epoch in place, as in LH5, does not count: those that it heard before answer still.)

// leaseholder is what a process does with the promises that it has.
type leaseholder struct {
	held         *tally        // the epoch that it holds; nil: none
	sought       *tally        // the epoch that it seeks, perhaps beside held (C3, LH5, LH9)
	steppingDown *steppingDown // what it has yet to release (LH6)
	lapsed       *lapsed       // the lease that it asks for again (LH4)
	lapsedAt     Instant       // when a lease lapsed last; 0: none has
	nextRound    Instant       // when the next round of requests is due
	outbidAfter  Instant       // it outbids no voter before (LH9)
	outbids      map[string]outbid
	lastSought   Epoch   // the highest that this incarnation has sought (C3)
	length       length  // how long a lease it asks for (LH10)
	toldUntil    Instant // what the app was told in leases that are over ends then (LH6)
	leadsSince   Instant // when it last took the lease, and held none before (LH8)
	votersSince  Instant // since when it has led with the voters that it has (PR2)
	peers        map[string]*peer
}

// Permission returns what this process may do at this instant: act under the epoch until the
// deadline on its own clock (LH2).
func (m *Machine) Permission() (e Epoch, deadline Instant, ok bool) {
	held := m.leaseholder.held
	if held == nil {
		return 0, 0, false
	}
	return held.epoch, held.deadline, true
}

// Renewed returns when the newest request for the lease was sent that a majority has granted (LH1);
// 0: it holds none.
func (m *Machine) Renewed() Instant {
	if m.leaseholder.held == nil {
		return 0
	}
	return m.leaseholder.held.renewed
}

// Asks returns how long a lease this process asks for (LH10); 0: it holds none.
func (m *Machine) Asks() time.Duration {
	if m.leaseholder.held == nil {
		return 0
	}
	return m.leaseholder.length.lease
}

// answersAreMissing reports whether so little time has passed since an instant that a higher
// candidate may not have had the time to answer (LH8, PR2).
func (m *Machine) answersAreMissing(since Instant) bool {
	return m.now.Boot-since < m.answerTimeout()
}

// dropLease gives up the lease at once without telling anybody. What the app was told ends by its
// deadline.
func (m *Machine) dropLease() {
	if m.leaseholder.held != nil {
		m.out.Revoke = true
	}
	m.stopActing()
	m.leaseholder.sought, m.leaseholder.steppingDown = nil, nil
}

// stopActing ends the epoch that is held, and remembers until when the app may rely on it.
func (m *Machine) stopActing() {
	l := &m.leaseholder
	if l.held != nil {
		l.toldUntil = max(l.toldUntil, l.held.deadline)
	}
	l.held = nil
}

// driveLeaseholder begins and continues what the rules of the leaseholder ask for.
func (m *Machine) driveLeaseholder() {
	m.finishStepDown()
	l := &m.leaseholder
	m.distrustClocks()
	if l.held != nil && (!m.candidate || m.me.Priority == 0) { // LH5, LH8
		m.stepDown(m.successor())
	}
	if l.sought != nil && l.held == nil && (!m.isCandidate() || l.sought.roster != m.roster) {
		m.dropSought()
		m.candidacy.retryAt = m.now.Boot
	}
	if l.held != nil && l.held.roster != m.roster &&
		(l.sought == nil || l.sought.roster != m.roster) {
		m.seek(1, nil) // LH5
		l.nextRound = m.now.Boot
	}
	m.outbid()
	m.evaluateVotes()
	if l.held != nil && m.now.Boot >= l.nextRound {
		m.renew()
		m.evaluateVotes()
	}
	if l.held != nil {
		m.preempt()
	}
}
