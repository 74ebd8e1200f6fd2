package lease

import "cmp"

// C3. If a majority would promise, it asks for votes. The ballot is one above the smallest number
// such that a majority of those asked have promised no higher ballot of this generation, so that a
// single voter can push the ballot up by 16 at most. An incarnation asks for no epoch twice,
// because a late RELEASE of the first attempt would end a promise of the second. The process's next
// incarnation may, if no majority has promised it: RELEASE ends promises to its sender only (V10).
// If the ballots of a generation are used up, it reports that, and the manager makes a new
// generation.
//
// C6. It asks for the same epoch again every heartbeat, because a voter with a slow disk has
// written it by then, and of a voter when the link to it opens, because the VOTE may be lost; until
// a majority has promised, or so many have denied that no majority is left, or L has passed. If any
// have denied, those that have not answered for 2 T count with them, except those that would have
// promised by their answer to the pre-vote: the others may be dead, and votes that are split must
// not be kept from each other for a whole lease; but these run, and have slow disks. The
// leaseholder that was lost last counts with them at once. In all cases but the first it sends
// RELEASE, and the next attempt begins with a pre-vote after a random part of T, of 2 T the next
// time, and so on up to 8 T. But the first time, a process that outranks all those that the denying
// voters are bound to asks again at once: two whose votes were split do not wait for each other. If
// a new roster comes meanwhile it sends RELEASE, too, and tries again at once. Who asks for a lease
// that has lapsed tries once (LH4).

// seek asks for the votes of an epoch with at least this ballot (C3, LH5, LH9). Support is who
// would promise it, by the pre-vote; nil: there was none, because this process holds the lease.
func (m *Machine) seek(ballot int64, support []bool) {
	l := &m.leaseholder
	if own := m.voter.Highest; m.voter.votes && own.Generation() == m.roster.Generation {
		ballot = max(ballot, own.Ballot()+1)
	}
	if l.lastSought.Generation() == m.roster.Generation { // its RELEASE may still be under way
		ballot = max(ballot, l.lastSought.Ballot()+1)
	}
	m.candidacy.ballotsSpent = ballot > MaxBallot
	if m.candidacy.ballotsSpent { // Phase tells the manager
		m.candidacy.retryAt = m.now.Boot + m.t
		return
	}
	l.sought = newTally(NewEpoch(m.roster.Generation, ballot), m.roster, m.now.Boot)
	copy(l.sought.support, support)
	l.lastSought = l.sought.epoch
	m.requestVotes(l.sought, Vote)
	if l.held == nil {
		l.nextRound = m.now.Boot + m.heartbeat
		m.evaluateVotes() // this process may be the only voter
	}
}

// requestVotes sends a round of requests: VOTE to every voter, or, once the epoch is held, RENEW to
// every member (LH3).
func (m *Machine) requestVotes(t *tally, k Kind) {
	m.round++
	p := Request{
		Kind:  k,
		Epoch: t.epoch,
		Round: m.round,
		Lease: t.roster.Lease,
	}
	switch l := &m.leaseholder; {
	case k == Renew: // LH10; of an older roster, for no more than that one allows (V5)
		p.Lease = min(l.length.lease, t.roster.Lease)
		p.Heartbeat = m.roster.heartbeat(p.Lease)
		if m.votesAreSlow() { // LH5; a voter of the next roster grants no more than that one allows (V4)
			p.Lease = min(t.roster.Lease, m.roster.Lease)
		}
	case l.held != nil && l.held.measures(t.roster, m.now.Boot): // LH10
		left := Outlast(l.held.deadline - m.now.Boot) // its window reaches the deadline
		p.Lease = min(max(l.length.lease, left), t.roster.Lease)
	}
	*t.round(m.round) = round{
		number: m.round,
		sent:   m.now.Boot,
		lease:  p.Lease,
	}
	for _, q := range t.roster.Members {
		switch {
		case q.Name == m.self.Name && m.voter.votes:
			m.requestOwnVote(p)
		case q.Name != m.self.Name && (k == Renew || q.Voter):
			m.send(q.Name, p)
		}
	}
}

// renew sends the next round of renewals (LH3), and asks again for the votes that it seeks beside.
func (m *Machine) renew() {
	l := &m.leaseholder
	late, next := m.now.Boot-l.nextRound, m.now.Boot+m.roster.heartbeat(l.length.lease)
	m.requestVotes(l.held, Renew)
	l.held.round(m.round).late, l.nextRound = late, next
	if l.sought != nil {
		m.requestVotes(l.sought, Vote)
	}
}

// voteMayBeLost sends a voter that has not promised the newest VOTE again: the link to it has just
// opened (C6).
func (m *Machine) voteMayBeLost(name string) {
	if l := &m.leaseholder; l.sought != nil && l.held == nil && l.sought.lacks(name) {
		m.send(name, l.sought.newestVote())
	}
}

// votesAreSlow reports whether the votes that are sought beside the lease wait for disks (LH5).
func (m *Machine) votesAreSlow() bool {
	l := &m.leaseholder
	return l.sought != nil &&
		m.now.Boot-l.sought.since >= slowVotes*m.roster.heartbeat(l.length.lease)
}

// requestOwnVote asks this process's own voter. Its vote counts once it is on the disk (V11); that
// it has promised a higher ballot counts at once (LH9).
func (m *Machine) requestOwnVote(p Request) {
	if !m.vote(m.self, p) {
		if m.voter.Highest > p.Epoch {
			m.voted(m.self, m.response(p, false))
		}
		return
	}
	v := Response{
		Kind:    p.Kind,
		Epoch:   p.Epoch,
		Round:   p.Round,
		Granted: true,
	}
	version := m.disk.grantOf(p.Epoch, m.voter.Highest)
	if m.disk.has(version) {
		m.voted(m.self, v)
		return
	}
	m.disk.hold(version, Reply{To: m.self.Name, Response: v})
}

// voted takes a voter's answer to a VOTE or a RENEW.
func (m *Machine) voted(from Incarnation, v Response) {
	elsewhere := v.Remaining > 0 &&
		(v.Holder != m.self.Name || v.Highest > m.leaseholder.lastSought)
	for _, t := range [...]*tally{m.leaseholder.held, m.leaseholder.sought} {
		if t == nil || t.epoch != v.Epoch {
			continue
		}
		gap := t.count(from, v, elsewhere, m.now.Boot)
		if gap > 0 && t == m.leaseholder.held && t.roster == m.roster {
			m.measured(t, gap)
		}
	}
}

// evaluateVotes decides what the votes for the epoch that is sought amount to (C6, C7, LH5, LH9).
func (m *Machine) evaluateVotes() {
	l := &m.leaseholder
	t := l.sought
	switch {
	case t == nil:
	case m.now.Boot < t.deadline: // C7
		m.changeOver(t)
	case l.held != nil:
		if t.refused(true) {
			m.seek(t.nextBallot(), nil)
		}
	case t.refused(false), m.now.Boot-t.since >= t.roster.Lease,
		t.split(m.lostLeaseholder(), m.now.Boot-t.since >= splitAfter*m.t):
		m.abandonSought()
	case m.now.Boot >= l.nextRound: // C6
		l.nextRound = m.now.Boot + m.heartbeat
		m.requestVotes(t, Vote)
	}
}

// lostLeaseholder is the leaseholder that this candidate does not hear any more: it still follows
// it, or a majority did not hear it either (C8). Empty: none.
func (m *Machine) lostLeaseholder() string {
	return cmp.Or(m.follower.leaseholder.Name, m.candidacy.lost)
}

// changeOver makes this process the leaseholder of the epoch that it sought, perhaps in place of
// the one that it holds (LH5). Then the renewals have measured these voters up to now, and what the
// votes waited for disks says nothing (LH10).
func (m *Machine) changeOver(t *tally) {
	l := &m.leaseholder
	if l.held == nil || !l.held.roster.sameVoters(t.roster) {
		l.votersSince = m.now.Boot
	}
	switch {
	case l.lapsed != nil: // LH4; who answered before answers still (LH8)
	case l.held == nil:
		l.leadsSince = m.now.Boot
	case l.held.measures(t.roster, m.now.Boot):
		t.renewed = max(t.renewed, l.held.renewed)
	}
	m.stopActing()
	m.take(t)
}

// take makes this process the leaseholder of the epoch that it sought.
func (m *Machine) take(t *tally) {
	l, f := &m.leaseholder, &m.follower
	l.held, l.sought, l.lapsed = t, nil, nil
	l.nextRound = m.now.Boot
	l.length.begin(m.roster, m.now.Boot)
	m.candidacy.leaseFound()
	*f = follower{
		epoch:    max(f.epoch, t.epoch),
		floor:    max(f.floor, t.epoch),
		reported: max(f.reported, t.epoch),
		ended:    f.ended,
	}
	if m.nominated != m.self.Name {
		m.out.Appoint = m.self.Name
	}
	m.renew()
}

// abandonSought gives up the epoch that is sought (C6).
func (m *Machine) abandonSought() {
	c, rival := &m.candidacy, m.leaseholder.sought.rival
	m.dropSought()
	c.waits = false // else the RELEASE of a rival would cut the random part of T short
	c.retryAt = m.now.Boot
	self, _ := m.roster.find(m.self.Name)
	if c.splits > 0 || rival.Name == "" || !self.outranks(rival) {
		c.retryAt += m.random(m.t << c.splits)
	}
	c.splits = min(c.splits+1, maxSplits)
}

// dropSought gives up the epoch that is sought, and releases it. After a lapse, askedInVain does
// that (LH4).
func (m *Machine) dropSought() {
	l := &m.leaseholder
	if l.lapsed != nil {
		l.lapsed = &lapsed{l.sought, l.lapsed.rival}
	} else {
		m.release(l.sought, nil)
	}
	l.sought = nil
}
