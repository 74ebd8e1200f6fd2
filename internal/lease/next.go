package lease

import (
	"cmp"
	"time"
)

// Next returns when a Tick is due at the latest.
func (m *Machine) Next() Instant {
	next := m.now.Boot + time.Hour
	at := func(t Instant) { next = min(next, max(t, m.now.Boot)) }
	if m.roster == nil {
		return next
	}
	l, c, f := &m.leaseholder, &m.candidacy, &m.follower
	if l.held != nil {
		at(l.nextRound)
		at(l.held.deadline)
	}
	if l.sought != nil && l.held == nil {
		at(l.nextRound)
		at(l.sought.since + l.sought.roster.Lease)
		if split := l.sought.since + splitAfter*m.t; split > m.now.Boot {
			at(split)
		}
	}
	if l.steppingDown != nil {
		at(l.toldUntil)
	}
	if c.preVote.purpose != noPreVote {
		at(c.preVote.since + max(m.t, m.roster.Timeout))
		at(m.asksAgainAt())
	} else if m.Reach() != Everyone && m.roster.voters() > 0 { // it may begin a pre-vote
		if m.nominated == m.self.Name && m.isCandidate() && !m.hearsLeaseholder() || f.suspects {
			at(c.retryAt)
		}
		if m.isCandidate() && m.knowsNoLeaseholder() {
			at(max(c.fallbackAt, c.retryAt))
		}
	}
	if m.Rests() {
		at(c.restsUntil)
	}
	if f.heir != "" {
		at(f.heirUntil)
	}
	if f.leaseholder.Name != "" && !f.hearsay && !f.suspects {
		at(cmp.Or(f.asksAt, m.heardUntil()))
	}
	return next
}
