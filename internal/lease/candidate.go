package lease

import "time"

// A candidate is a process that may coordinate: its priority is above 0, its app is healthy, and it
// has not withdrawn. prevote.go and seek.go carry out what these rules say.
//
// C1. A candidate that the election algorithm nominates, and that holds no lease, sends a PREVOTE
// to all voters. It asks those that would not promise, or have not answered, again every heartbeat:
// promises run out, a voter notices that a leaseholder is gone. One that has not answered is asked
// again at once when the connection to it opens.
//
// C2. It follows the leaseholder that the voters hear, and deposes nobody, if so many hear one that
// no majority is left, or if some hear one and those that answer within the timeout and hear none
// are not a majority. Of several leaseholders it follows the newest that a minority of liars cannot
// have made up. Its election algorithm is told.
//
// C3. If a majority would promise, it asks for votes. The ballot is one above the smallest number
// such that a majority of those asked have promised no higher ballot of this generation, so that a
// single voter can push the ballot up by 16 at most. An incarnation asks for no epoch twice,
// because a late RELEASE of the first attempt would end a promise of the second. If the ballots of
// a generation are used up, it reports that, and the manager makes a new generation.
//
// C4. If a majority answers, but promises that nobody hears still run, it stays nominated and asks
// for pre-votes again when enough of the promises have run out, or when a RELEASE arrives. Answers
// that are late count for that, too: the first to answer may be bound for long (the process itself, by
// what it promised before it was restarted, V6), and the others for a moment. For T after a RELEASE
// it asks every tenth of a heartbeat, because it reaches the voters at different times.
//
// C5. If fewer than a majority answer within the roster's timeout, twice in a row, it withdraws its
// candidacy for a random 4 to 8 T, provided that another process may coordinate. Otherwise the
// highest process, with a broken connection, would keep all others from being elected.
//
// C6. It asks for the same epoch again every heartbeat, because a voter with a slow disk has
// written it by then, until a majority has promised, or so many have denied that no majority is
// left, or L has passed. If any have denied, those that have not answered for 2 T count with them:
// they may be dead, and votes that are split must not be kept from each other for a whole lease. In
// all cases but the first it sends RELEASE, and the next attempt begins with a pre-vote after a random
// part of T, of 2 T the next time, and so on up to 8 T.
//
// C7. A majority of promises, counted by LH1, makes it the leaseholder.
//
// C8. A process that suspects the leaseholder sends a PREVOTE to the voters before its election
// algorithm hears of the suspicion. If a majority does not hear the leaseholder either, the
// algorithm is told, and an election begins. If they hear it, the process follows by hearsay, and
// asks again after a random T/2 to 3T/2. So a process that lost only its own connection to the
// leaseholder disturbs nobody. A process whose app reports that the leaseholder does not answer asks
// the voters, too. While it hears the leaseholder itself it says so when it is asked, and it goes on
// following unless a majority hears nothing. So an app that lies costs pre-votes, and no more.
//
// C9. If nobody has held the lease for L, 6 T and a further random part of 6 T, a candidate
// nominates itself: it asks for pre-votes, and with a majority for votes. This serves rings that
// cannot close and connections that work in one direction only.

// candidacy is what a process does to become the leaseholder.
type candidacy struct {
	preVote      preVote
	retryAt      Instant // no pre-vote begins before
	failures     int     // pre-votes in a row that found no majority (C5)
	restsUntil   Instant // until when it has withdrawn (C5, LH4)
	fallbackAt   Instant // when it nominates itself, if nobody holds the lease until then (C9)
	waits        bool    // for promises that nobody hears to run out (C4)
	releasedAt   Instant // when a RELEASE last arrived (C4)
	ballotsSpent bool    // the ballots of this generation are used up (C3)
	noMajority   bool    // the last pre-vote was answered by no majority
	splits       int     // attempts in a row that were given up (C6)
}

// Rests reports whether this process has withdrawn its candidacy for a while (C5, LH4).
func (m *Machine) Rests() bool { return m.now.Boot < m.candidacy.restsUntil }

// leaseFound forgets what went wrong, because a process holds the lease.
func (c *candidacy) leaseFound() {
	c.failures, c.splits, c.waits, c.noMajority = 0, 0, false, false
}

// driveCandidate begins and continues pre-votes (C1, C8, C9).
func (m *Machine) driveCandidate() {
	c := &m.candidacy
	if c.preVote.purpose != noPreVote {
		if m.now.Boot >= c.preVote.askedAt+m.preVoteInterval() {
			m.sendPreVotes()
		}
		m.evaluatePreVote()
		return
	}
	l := &m.leaseholder
	if l.held != nil || l.sought != nil || l.steppingDown != nil ||
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

// withdraw ends this process's candidacy for a while, so that another one is nominated (C5, LH4), if
// there is a rival that may be.
func (m *Machine) withdraw(rival bool) {
	if rival {
		m.candidacy.restsUntil = m.now.Boot + restLeast*m.t + m.random(restMore*m.t)
		m.candidacy.retryAt = m.candidacy.restsUntil
	} else {
		m.candidacy.retryAt = m.now.Boot + m.t
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
