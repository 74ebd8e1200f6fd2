package lease

import "time"

// LH11. While the leaseholder renews at least twice a heartbeat of the roster, a round of renewals
// goes to half of the voters first: to as many as make a majority with its own vote, in turns, so
// that each gets at least every second round. It also goes at once to everybody whose promise the
// leaseholder does not have: such a process may be dead, or has just come back. If no majority has
// granted the round after a quarter of the heartbeat, the others get it, too, and for 2 s each
// round goes to all. So voters that are lost or late make a gap longer by that quarter at most, and
// no minority of them ends a lease.
//
// A renewal that leaves somebody out says that the next one is due after two heartbeats (V9, F4).
//
// Each round goes to all in the first 2 s of a lease, which show whether the voters are quick, and
// while votes are sought beside it (LH5, LH9).

// The numbers of LH11.
const (
	// halves is every which round a voter gets at least.
	halves = 2
	// quarter is after which part of a heartbeat those get a round that were left out of it.
	quarter = 4
	// toAll is for how long each round goes to all.
	toAll = 2 * time.Second
)

// renewal is the newest round of renewals (LH11). Left is indexed as the epoch's roster's members.
type renewal struct {
	request    Request
	sent       Instant
	left       []bool  // who was left out
	restAt     Instant // when these get it if no majority has granted it; 0: nobody was left out
	turn       int     // the member that the choice of the next round begins with
	toAllUntil Instant // until when each round goes to all
}

// waits reports whether those that were left out are to get the round at restAt.
func (r *renewal) waits(t *tally) bool { return r.restAt > 0 && t.renewed < r.sent }

// renew sends the next round of renewals (LH3), and asks again for the votes that it seeks beside.
func (m *Machine) renew() {
	l := &m.leaseholder
	l.nextRound = m.now.Boot + m.roster.heartbeat(l.length.lease)
	m.requestVotes(l.held, Renew)
	if l.sought != nil {
		m.requestVotes(l.sought, Vote)
	}
}

// divide decides who is left out of a round, which is p, and until when (LH11).
func (m *Machine) divide(t *tally, p *Request) {
	l := &m.leaseholder
	r := &l.renewal
	r.leaveOutNobody(len(t.promised))
	r.sent = m.now.Boot
	if m.now.Boot < r.toAllUntil || halves*p.Heartbeat > m.heartbeat || l.sought != nil {
		return
	}
	rest := m.now.Boot + p.Heartbeat/quarter
	promised := func(i int) bool { return t.promised[i] > m.now.Boot }
	own := t.roster.indexOf(m.self)
	needed, first := t.roster.majority(), r.turn
	if own >= 0 && promised(own) {
		needed--
	}
	for k := range r.left {
		switch i := (first + k) % len(r.left); {
		case i == own || !promised(i):
		case needed > 0:
			needed--
			r.turn = i + 1
		default:
			r.left[i], r.restAt = true, rest
		}
	}
	if r.restAt > 0 {
		p.Heartbeat *= halves
	}
	r.request = *p
}

// leaveOutNobody begins a round among so many members.
func (r *renewal) leaveOutNobody(members int) {
	if len(r.left) != members {
		r.left = make([]bool, members)
	}
	clear(r.left)
	r.restAt = 0
}

// renewRest sends the newest round to those that were left out, unless a majority has granted it.
func (m *Machine) renewRest() {
	l := &m.leaseholder
	r := &l.renewal
	if l.held == nil || !r.waits(l.held) || m.now.Boot < r.restAt {
		return
	}
	r.toAllUntil = m.now.Boot + toAll
	for i, q := range l.held.roster.Members {
		if r.left[i] {
			m.send(q.Name, r.request)
		}
	}
	r.restAt = 0
}
