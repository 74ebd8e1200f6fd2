package lease

import (
	"slices"
	"time"
)

// C4. If a majority answers, but promises that nobody hears still run, it stays nominated and asks
// for pre-votes again when enough of the promises have run out, or when a RELEASE arrives. It does
// so also while it does not know yet whether a majority would promise, because a dead voter does
// not answer: then it asks those that are bound when enough of them are free, and not only after a
// heartbeat (C1). Answers that are late count, too: the first to answer may be bound for long (the
// process itself, by what it promised before it was restarted, V6), and the others for a moment.
// For T after a RELEASE it asks every tenth of a heartbeat, because it reaches the voters at
// different times. So it does for a heartbeat after it took a new roster, if a voter answers that
// does not have it yet. (A pod that is killed without notice costs a failover and a roster at the
// same time.)

// asksAgainAt is when the voters are asked again that would not promise (C1, C4, C8).
func (m *Machine) asksAgainAt() Instant {
	s := &m.candidacy.preVote
	at := s.askedAt + m.preVoteInterval()
	if s.purpose == transfer {
		return at
	}
	if free, ok := s.completes(m.roster.majority(), s.askedAt); ok {
		at = min(at, free+time.Millisecond)
	}
	return at
}

// completes returns when so many voters are free that they make a majority with those that would
// promise, or that hear no leaseholder if one is suspected. Only those count that get free after an
// instant: whoever was free when it was asked last may not answer. Who denies for another reason
// than time does not count either.
func (s *preVote) completes(majority int, from Instant) (at Instant, ok bool) {
	var bound []Instant
	for i, answered := range s.answered {
		switch {
		case !answered:
		case s.responses[i].Granted, s.purpose == suspicion && !s.responses[i].Heard:
			majority--
		case s.bound[i] > from:
			bound = append(bound, s.bound[i])
		}
	}
	if majority <= 0 || len(bound) < majority {
		return 0, false
	}
	slices.Sort(bound)
	return bound[majority-1], true
}

// preVoteInterval is how long the voters are left alone, unless enough promises run out sooner.
func (m *Machine) preVoteInterval() time.Duration {
	if m.answersChange() {
		return m.heartbeat / 10
	}
	return m.heartbeat
}

// answersChange reports whether voters are about to answer otherwise.
func (m *Machine) answersChange() bool { return m.releasedJustNow() || m.rosterSpreads() }

// releasedJustNow reports whether a RELEASE arrived within T: other voters may be about to get it.
func (m *Machine) releasedJustNow() bool { return m.now.Boot-m.candidacy.releasedAt < m.t }

// rosterSpreads reports whether a voter that has answered is about to get a new roster.
func (m *Machine) rosterSpreads() bool {
	s := &m.candidacy.preVote
	if m.now.Boot-m.candidacy.rosterAt >= m.heartbeat {
		return false
	}
	for i, v := range s.responses {
		if s.answered[i] && v.Generation < m.roster.Generation {
			return true
		}
	}
	return false
}

// preVoteFailed ends a pre-vote that found neither a majority nor a leaseholder.
func (m *Machine) preVoteFailed(answered bool) {
	c, s := &m.candidacy, &m.candidacy.preVote
	c.noMajority = !answered
	switch {
	case s.purpose == fallback && !answered: // C9
		m.postponeFallback()
	case answered && m.answersChange(): // C4
		c.failures, c.waits = 0, true
		c.retryAt = m.now.Boot + m.preVoteInterval()
	case answered: // C4
		c.failures, c.waits, s.late = 0, true, s.awaits(m.roster)
		again, runOut := m.whenPromisesHaveRunOut()
		if !runOut { // denied for another reason than time: the rosters may differ
			again = max(s.askedAt+m.t/2+m.random(m.t), m.now.Boot) + time.Millisecond
		}
		c.retryAt = again
	case c.failures+1 < preVoteAttempts:
		c.failures++
		c.retryAt = m.now.Boot + m.random(m.t)
	default: // C5
		c.failures = 0
		m.withdraw(m.roster.hasRival(m.self.Name))
	}
	s.purpose = noPreVote
}

// whenPromisesHaveRunOut returns when the promises of a majority have run out, by what the voters
// have answered so far, or when T has passed. ok is false if it is not promises that keep them from
// voting.
func (m *Machine) whenPromisesHaveRunOut() (at Instant, ok bool) {
	s := &m.candidacy.preVote
	free, ok := s.completes(m.roster.majority(), 0)
	at = min(free, s.askedAt+max(m.t, m.heartbeat))
	return max(at, m.now.Boot) + time.Millisecond, ok
}
