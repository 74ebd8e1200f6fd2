package lease

import (
	"cmp"
	"slices"
	"time"
)

// A process that does not hear the leaseholder, but learns from voters that they do, follows it by
// hearsay.
//
// C2. It follows the leaseholder that the voters hear, and deposes nobody, if so many hear one that
// no majority is left, or if some hear one and those that answer within the timeout and hear none
// are not a majority. Of several leaseholders it follows the newest that a minority of liars cannot
// have made up. Its election algorithm is told.
//
// C8. A process that suspects the leaseholder sends a PREVOTE to the voters before its election
// algorithm hears of the suspicion. If a majority does not hear the leaseholder either, the
// algorithm is told, and an election begins. If they hear it, the process follows by hearsay, and
// asks again after a random T/2 to 3T/2. But it may only be the first that has noticed the
// leaseholder's silence. So it asks sooner, when by the answers the promises of a majority have run
// out. It does not do so twice in a row. (While answers are missing that could decide, it asks at
// such an instant, too, as in C4.) A process that lost only its own link to the leaseholder
// disturbs nobody. A process whose app reports that the leaseholder does not answer asks the
// voters, too. While it hears the leaseholder itself it says so when it is asked, and it goes on
// following unless a majority hears nothing. So an app that lies costs pre-votes, and no more.
// turn.go has the order in which the processes ask.
//
// If a majority does not hear the leaseholder, and this process has missed two of its renewals over
// an open link, the leaseholder counts as silent here, as if the failure detector had found that:
// a ring skips it. The detector may take longer than the lease, and a message that went to the
// silent one would wait for that.

// followHearsay follows the leaseholder that the voters hear (C2, C8), and asks again after a
// while, or when it may be unheard.
func (m *Machine) followHearsay() {
	s := &m.candidacy.preVote
	if m.hearsLeaseholder() { // only its app suspects it
		s.purpose, m.follower.suspects = noPreVote, false
		return
	}
	var heard []Response
	for i, v := range s.responses {
		if s.answered[i] && v.Heard && v.Holder != m.self.Name &&
			!m.follower.ended.includes(v.Holder, v.HolderEpoch) {
			heard = append(heard, v)
		}
	}
	slices.SortFunc(heard, func(a, b Response) int {
		return cmp.Compare(b.HolderEpoch, a.HolderEpoch)
	})
	liars := m.roster.voters() - m.roster.majority() // at most so many answers may be made up
	believed := heard[min(len(heard)-1, liars)]
	s.purpose = noPreVote
	c := &m.candidacy
	c.leaseFound()
	c.retryAt = m.now.Boot + m.t/2 + m.random(m.t)
	at, ok := s.unheardFrom(m.roster.majority(), m.now.Boot)
	c.hastened = ok && at < c.retryAt && !c.hastened
	if c.hastened {
		c.retryAt = at + time.Millisecond
	}
	m.postponeFallback()
	m.believe(believed)
}

// unheardFrom returns when a majority hears no leaseholder any more, unless that one renews its
// promises (C8, V9). The answers count from now, which is late by the time that they took. ok is
// false if they do not tell.
func (s *preVote) unheardFrom(majority int, now Instant) (at Instant, ok bool) {
	var remaining []time.Duration
	for i, v := range s.responses {
		switch {
		case !s.answered[i] || v.Heard && v.Remaining <= 0: // it hears it, and is not bound to it
		case v.Heard:
			remaining = append(remaining, v.Remaining)
		default:
			remaining = append(remaining, 0)
		}
	}
	if len(remaining) < majority {
		return 0, false
	}
	slices.Sort(remaining)
	return now + remaining[majority-1], true
}

// undecidable reports whether a process that suspects the leaseholder can stop waiting for answers.
// A majority has answered, so their promises tell when to ask again. The answers that are missing
// cannot make a majority: the leaseholder itself will hardly answer.
func (s *preVote) undecidable(all, majority, answered, unheard int) bool {
	return s.purpose == suspicion && answered >= majority && unheard+all-answered-1 < majority
}
