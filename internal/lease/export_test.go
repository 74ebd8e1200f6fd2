package lease

import (
	"maps"
	"slices"
	"time"
)

// Clone copies a Machine. The copies draw from one source of random delays.
func (m *Machine) Clone() *Machine {
	c := *m
	c.out = Output{}
	c.disk.waiting = slices.Clone(m.disk.waiting)
	s := &c.candidacy.preVote
	s.responses, s.answered = slices.Clone(s.responses), slices.Clone(s.answered)
	s.bound = slices.Clone(s.bound)
	c.leaseholder.held = m.leaseholder.held.clone()
	c.leaseholder.sought = m.leaseholder.sought.clone()
	if r := m.leaseholder.steppingDown; r != nil {
		copied := *r
		c.leaseholder.steppingDown = &copied
	}
	c.leaseholder.outbids = maps.Clone(m.leaseholder.outbids)
	c.leaseholder.peers = maps.Clone(m.leaseholder.peers)
	for name, s := range c.leaseholder.peers {
		copied := *s
		c.leaseholder.peers[name] = &copied
	}
	return &c
}

func (t *tally) clone() *tally {
	if t == nil {
		return nil
	}
	copied := *t
	copied.promised, copied.denied = slices.Clone(t.promised), slices.Clone(t.denied)
	copied.asked = slices.Clone(t.asked)
	copied.highest = slices.Clone(t.highest)
	copied.bound = slices.Clone(t.bound)
	return &copied
}

// LedForLong has a Machine count as one that has led for an hour without a lapse (LH4).
func (m *Machine) LedForLong() {
	m.leaseholder.leadsSince, m.leaseholder.lapsedAt = -time.Hour, -time.Hour
}

// Believed calls visit for every promise of the epoch it acts under that a Machine relies on at
// this instant (G5).
func (m *Machine) Believed(now Instant, visit func(voter Member, until Instant)) {
	if c := m.leaseholder.held; c != nil {
		for i, until := range c.promised {
			if now < until {
				visit(c.roster.Members[i], until)
			}
		}
	}
}

// Epochs are the epochs that this process acts under and claims, 0 for none.
func (m *Machine) Epochs() (held, sought Epoch) {
	if m.leaseholder.held != nil {
		held = m.leaseholder.held.epoch
	}
	if m.leaseholder.sought != nil {
		sought = m.leaseholder.sought.epoch
	}
	return held, sought
}

// Own is what this process has promised itself, as it counts it.
func (m *Machine) Own() (e Epoch, lease time.Duration, until Instant) {
	for _, c := range [...]*tally{m.leaseholder.held, m.leaseholder.sought} {
		if c == nil {
			continue
		}
		for i, q := range c.roster.Members {
			if q.Name == m.self.Name && c.promised[i] > 0 && c.promised[i] >= until {
				e, lease, until = c.epoch, c.leaseUntil(c.promised[i]), c.promised[i]
			}
		}
	}
	return e, lease, until
}

// leaseUntil is the longest lease of a round whose window ends at an instant.
func (t *tally) leaseUntil(until Instant) (longest time.Duration) {
	for _, r := range t.rounds {
		if r.number > 0 && r.sent+Window(r.lease) == until {
			longest = max(longest, r.lease)
		}
	}
	if longest == 0 {
		panic("the round of a promise is too old to be known")
	}
	return longest
}

// Size is how many things a Machine keeps, for G13.
func (m *Machine) Size() int {
	return len(
		m.disk.waiting,
	) + len(
		m.candidacy.preVote.responses,
	) + len(
		m.leaseholder.peers,
	) + len(
		m.leaseholder.outbids,
	) + len(
		m.out.Requests,
	)
}
