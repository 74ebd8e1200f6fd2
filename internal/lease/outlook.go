package lease

import "time"

// What whoever drives a Machine asks it between two steps.

// Word says in one word what this process is at, for reports.
func (m *Machine) Phase() string {
	switch {
	case m.roster == nil:
		return ""
	case m.leaseholder.held != nil:
		return "Holding"
	case m.leaseholder.stepping != nil:
		return "SteppingDown"
	case m.follower.known.Name != "" && (!m.candidacy.alone || !m.follower.consult):
		return "Following"
	case m.candidacy.spent:
		return "BallotsSpent"
	case m.candidacy.alone:
		return "NoMajority"
	case m.candidacy.waiting:
		return "Waiting"
	default:
		return "Electing"
	}
}

// Reach says to whom this process must have a link, besides those that the election machine wants.
type Reach uint8

// Nobody, the voters, or every member.
const (
	Nobody Reach = iota
	Voters
	Everyone
)

// Reach is to whom this process requests now or may at any moment.
func (m *Machine) Reach() Reach {
	h := &m.leaseholder
	switch {
	case m.roster == nil:
		return Nobody
	case h.held != nil || h.sought != nil || h.stepping != nil:
		return Everyone
	case m.nominated == m.self.Name || m.candidacy.preVote.purpose != idle || m.follower.consult:
		return Voters
	default:
		return Nobody
	}
}

// Links are those processes.
func (m *Machine) Links() (names []string) {
	reach := m.Reach()
	if reach == Nobody {
		return nil
	}
	for _, q := range m.roster.Members {
		if q.Name != m.self.Name && (reach == Everyone || q.Voter) {
			names = append(names, q.Name)
		}
	}
	return names
}

// Next is when a Tick is due, at the latest.
func (m *Machine) Next() Instant {
	next := m.now.Boot + time.Hour
	at := func(t Instant) { next = min(next, max(t, m.now.Boot)) }
	h, n, f := &m.leaseholder, &m.candidacy, &m.follower
	if m.roster == nil {
		return next
	}
	if h.held != nil {
		at(h.renew)
		at(h.held.deadline())
	}
	if h.sought != nil && h.held == nil {
		at(h.renew)
		at(h.sought.since + h.sought.lease)
	}
	if h.stepping != nil {
		at(h.told)
	}
	if n.preVote.purpose != idle {
		at(n.preVote.since + max(m.t, m.roster.Timeout))
		at(n.preVote.asked + m.pause())
	} else if h.held == nil && h.sought == nil && h.stepping == nil && m.roster.voters() > 0 {
		if m.nominated == m.self.Name && m.isCandidate() && !m.hearing() || f.consult {
			at(n.retry)
		}
		if m.isCandidate() && m.leaderless() {
			at(max(n.fallback, n.retry))
		}
	}
	if m.Rests() {
		at(n.rests)
	}
	if f.known.Name != "" && !f.hearsay && !f.consult {
		at(f.heard + m.silence())
	}
	return next
}

// Promised is whom this voter's promise binds it to at the instant of the last Step, and for how long still; the zero Incarnation is nobody.
func (m *Machine) Promised() (to Incarnation, remaining time.Duration) {
	return m.voter.running(m.now.Boot)
}
