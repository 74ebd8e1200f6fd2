package lease

import "time"

// A candidate is a process that may coordinate: its priority is above 0, its app is healthy, and it
// has not withdrawn. prevote.go and again.go have the rules of how it asks whether it could be
// elected, hearsay.go those of what it does if voters hear a leaseholder, and seek.go those of how
// it asks for votes.
//
// C5. If fewer than a majority answer within the roster's timeout, twice in a row, it withdraws its
// candidacy for a random 4 to 8 T, provided that another process may coordinate. Otherwise the
// highest process, with a broken link, would keep all others from being elected.
//
// C7. A majority of promises, counted by LH1, makes it the leaseholder.
//
// C9. If nobody has held the lease for L, 6 T and a further random part of 6 T, a candidate
// nominates itself: it asks for pre-votes, and with a majority for votes. This serves rings that
// cannot close and links that work in one direction only.
//
// C10. A process that starts while its voter is bound to an earlier incarnation of it stands back:
// it is no candidate until that promise has run out (V6), provided that another process may
// coordinate. That incarnation held the lease, or sought it. The others replace it as if it had
// stayed away. Otherwise a process that is killed again and again would be elected each time, and
// each time nobody would hold the lease until the promises to its last incarnation have run out.
// (A RELEASE does not remove from the disk what the voter has promised to its own process; the next
// write does. So a process may stand back long after it held the lease.)

// candidacy is what a process does to become the leaseholder.
type candidacy struct {
	preVote      preVote
	retryAt      Instant // no pre-vote begins before
	failures     int     // pre-votes in a row that found no majority (C5)
	restsUntil   Instant // until when it has withdrawn (C5, C10, LH4)
	fallbackAt   Instant // when it nominates itself, if nobody holds the lease until then (C9)
	waits        bool    // for promises that nobody hears to run out (C4)
	releasedAt   Instant // when a RELEASE last arrived (C4)
	rosterAt     Instant // when this process took its roster (C4)
	ballotsSpent bool    // the ballots of this generation are used up (C3)
	noMajority   bool    // the last pre-vote was answered by no majority
	splits       int     // attempts in a row that were given up (C6)
	hastened     bool    // it asked the voters again sooner than after T/2 (C8)
	lost         string  // the last leaseholder that a majority did not hear any more (C6, C8)
}

// Rests reports whether this process has withdrawn its candidacy for a while (C5, C10, LH4).
func (m *Machine) Rests() bool { return m.now.Boot < m.candidacy.restsUntil }

// leaseFound forgets what went wrong, because a process holds the lease.
func (c *candidacy) leaseFound() {
	c.failures, c.splits, c.waits, c.noMajority, c.lost = 0, 0, false, false, ""
}

// endPause ends the pause after what went wrong before somebody led, or while this process did
// not hear the leaseholder: the next pre-vote is about something else. A rest goes on.
func (m *Machine) endPause() {
	if c := &m.candidacy; !m.Rests() {
		c.retryAt = min(c.retryAt, m.now.Boot)
	}
}

// driveCandidate begins and continues pre-votes (C1, C8, C9).
func (m *Machine) driveCandidate() {
	c := &m.candidacy
	if c.preVote.purpose != noPreVote {
		m.continuePreVote()
		return
	}
	l := &m.leaseholder
	if l.held != nil || l.sought != nil || l.steppingDown != nil || l.lapsed != nil ||
		m.roster.voters() == 0 || m.now.Boot < c.retryAt {
		return
	}
	switch {
	case !m.isCandidate():
	case m.nominated == m.self.Name && !m.hearsLeaseholder():
		m.startPreVote(nomination, Incarnation{}, 0)
	case m.now.Boot >= c.fallbackAt && m.knowsNoLeaseholder():
		m.startPreVote(fallback, Incarnation{}, 0)
	}
	f := &m.follower
	if f.suspects && f.leaseholder.Name != "" && c.preVote.purpose == noPreVote {
		m.startPreVote(suspicion, f.leaseholder, f.epoch)
	}
}

// withdraw ends this process's candidacy for a while, so that another one is nominated (C5, LH4),
// if there is a rival that may be.
func (m *Machine) withdraw(rival bool) {
	if rival {
		m.candidacy.restsUntil = m.now.Boot + restLeast*m.t + m.random(restMore*m.t)
		m.candidacy.retryAt = m.candidacy.restsUntil
	} else {
		m.candidacy.retryAt = m.now.Boot + m.t
	}
}

// standBack withdraws for as long as this process's voter is bound to an earlier incarnation (C10).
func (m *Machine) standBack() {
	former, remaining := m.voter.runningPromise(m.now.Boot)
	if m.leaseholder.held == nil && m.voter.votes && remaining > 0 &&
		former.Name == m.self.Name && former != m.self && m.roster.hasRival(m.self.Name) {
		m.candidacy.restsUntil = max(m.candidacy.restsUntil, m.voter.until)
	}
}

// knowsNoLeaseholder reports whether neither this process nor one that it follows holds the lease.
func (m *Machine) knowsNoLeaseholder() bool {
	return m.follower.leaseholder.Name == "" && m.leaseholder.held == nil
}

// postponeFallback sets anew when this process nominates itself (C9).
func (m *Machine) postponeFallback() {
	lease := time.Duration(0)
	if m.roster != nil {
		lease = m.roster.Lease
	}
	m.candidacy.fallbackAt = m.now.Boot + lease + fallbackLeast*m.t + m.random(fallbackMore*m.t)
}
