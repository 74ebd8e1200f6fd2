package lease

import (
	"slices"
	"time"
)

// LH11. While the lease is the shortest, and is renewed at least twice a heartbeat of the roster, a
// round of renewals goes to half of the voters first: to as many as make a majority with the
// leaseholder's own vote, in turns, so that each gets at least every second round. It also goes at
// once to everybody whose promise the leaseholder does not have: such a process may be dead, or has
// just come back. If no majority has granted the round after a quarter of the heartbeat, the others
// get it, too, and for 2 s each round goes to all. So voters that are lost or late make a gap
// longer by that quarter at most, if the others are quick, and no minority of them ends a lease.
//
// In a longer lease that quarter could be the delay that keeps it from getting short again (LH10),
// so there each round goes to all; and also in the first 2 s of a lease, which show whether the
// voters are quick, and while votes are sought beside it (LH5, LH9).
//
// A voter whose turn it was hears that its next renewal is due after two heartbeats (V9, F4). Those
// that the first such round leaves out have not heard that, and wait one heartbeat longer than they
// were told. They take nobody for silent so soon.

// The numbers of LH11.
const (
	// turns is in how many rounds each voter has had its turn.
	turns = 2
	// restAfter is after which part of a heartbeat those get a round that were left out of it.
	restAfter = 4
	// toAll is for how long each round goes to all.
	toAll = 2 * time.Second
)

// renewal is the newest round of renewals (LH11). Due is indexed as the epoch's roster's members.
type renewal struct {
	request    Request
	sent       Instant
	due        []time.Duration // when each is to hear from it again; 0: left out of this round
	restAt     Instant         // when these get it unless a majority has granted it; 0: nobody is
	turn       int             // the member that the choice of the next round begins with
	toAllUntil Instant         // until when each round goes to all
}

// waits reports whether those that were left out are to get the round at restAt.
func (r *renewal) waits(t *tally) bool { return r.restAt > 0 && t.renewed < r.sent }

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

// divide decides who gets a round of renewals at once (LH11).
func (m *Machine) divide(t *tally, p Request) {
	l := &m.leaseholder
	r := &l.renewal
	r.request, r.sent, r.restAt = p, m.now.Boot, 0
	r.due = slices.Grow(r.due[:0], len(t.promised))[:len(t.promised)]
	for i := range r.due {
		r.due[i] = p.Heartbeat
	}
	if l.length.lease == l.length.shortest && turns*p.Heartbeat <= m.heartbeat &&
		m.now.Boot >= r.toAllUntil && l.sought == nil {
		r.takeTurns(t, t.roster.indexOf(m.self))
	}
}

// takeTurns leaves voters out of a round that a majority can grant without them. Own is where this
// process stands on the roster, or -1.
func (r *renewal) takeTurns(t *tally, own int) {
	needed, others := t.roster.majority(), 0
	for i, until := range t.promised {
		switch {
		case until <= r.sent:
		case i == own:
			needed--
		default:
			others++
		}
	}
	if others <= needed {
		return
	}
	n, first := len(r.due), r.turn
	for k := range n {
		switch i := (first + k) % n; {
		case i == own || t.promised[i] <= r.sent:
		case needed > 0:
			needed--
			r.turn = i + 1
			r.due[i] = turns * r.request.Heartbeat
		default:
			r.due[i] = 0
		}
	}
	r.restAt = r.sent + r.request.Heartbeat/restAfter
}

// renewRest sends the newest round to those that were left out, unless a majority has granted it.
func (m *Machine) renewRest() {
	l := &m.leaseholder
	r := &l.renewal
	if l.held == nil || !r.waits(l.held) || m.now.Boot < r.restAt {
		return
	}
	round := l.held.round(r.request.Round)
	round.late = max(round.late, m.now.Boot-r.restAt)
	r.restAt, r.toAllUntil = 0, m.now.Boot+toAll
	for i, q := range l.held.roster.Members {
		if r.due[i] == 0 {
			m.send(q.Name, r.request)
		}
	}
}
