package lease

import "time"

// Late says who was late when a lease ran out or became longer.
type Late string

// Who can be late.
const (
	// LateAgent: this process itself sent a renewal late. It stood still, or it got no CPU.
	LateAgent Late = "Agent"
	// LateVoters: it sent the renewals in time. The voters answered late, the links delayed what was
	// said, or this process read it late.
	LateVoters Late = "Voters"
	// LateApp: too much time passed between two questions of the app, or until it read what the agent
	// had sent.
	LateApp Late = "App"
)

// Delay is one that has ended a lease, or made it longer (LH10). It is for logs and metrics:
// nothing in this package depends on it.
type Delay struct {
	Late   Late
	Lapsed bool // it has ended the lease
	// Gap is for how long no majority had granted a later renewal than the newest that it had
	// granted, counted from the sending of that one; of a lease that has just begun, from its VOTE.
	// With LateApp it is the time between the questions, and what follows is zero.
	Gap time.Duration
	// Own is by how much this process sent a renewal late in that time, while the lease ran: the
	// largest of all. Those that were due and had yet to be sent count.
	Own time.Duration
	// Rounds is how many rounds of requests for the epoch it sent in that time, of the newest 32, and
	// Granted how many voters, with this process, have granted one of them.
	Rounds, Granted int
}

// delayed describes the gap that has gone on since a renewal was sent, while this process held the
// lease of a tally until an instant. The agent was late if at least half of what the gap is over
// the heartbeat is its own.
func (m *Machine) delayed(t *tally, since, until Instant) *Delay {
	l := &m.leaseholder
	d := &Delay{Late: LateVoters, Gap: m.now.Boot - since, Own: max(until-l.nextRound, 0)}
	asked := l.length.lease // the shortest of that time
	for _, r := range t.rounds {
		if r.number > 0 && r.sent >= since {
			asked = min(asked, r.lease)
		}
		if r.number > 0 && r.sent > since {
			d.Rounds++
			d.Own = max(d.Own, r.late)
		}
	}
	for _, at := range t.asked {
		if at > since {
			d.Granted++
		}
	}
	if d.Own > 0 && 2*d.Own >= until-since-m.roster.heartbeat(asked) {
		d.Late = LateAgent
	}
	return d
}

// measured takes a gap of the lease that is held (LH10).
func (m *Machine) measured(t *tally, gap time.Duration) {
	l := &m.leaseholder.length
	before := l.lease
	if l.renewed(m.roster, gap, m.now.Boot); l.lease > before {
		m.out.Delay = m.delayed(t, m.now.Boot-gap, m.now.Boot)
	}
}

// appAsked takes the time between two questions of the app (LH10).
func (m *Machine) appAsked(gap time.Duration) {
	l := &m.leaseholder
	if l.held == nil {
		return
	}
	before := l.length.lease
	if l.length.asked(m.roster, gap, m.now.Boot); l.length.lease > before {
		m.out.Delay = &Delay{Late: LateApp, Gap: gap}
	}
}
