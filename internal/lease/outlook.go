package lease

import "time"

// What whoever drives a Machine asks it between two steps.

// Word says in one word what this process is at, for reports.
func (m *Machine) Word() string {
	switch {
	case m.roster == nil:
		return ""
	case m.holder.acting != nil:
		return "Holding"
	case m.holder.resigning != nil:
		return "Resigning"
	case m.follower.known.Name != "" && (!m.nominee.alone || !m.follower.consult):
		return "Following"
	case m.nominee.spent:
		return "BallotsSpent"
	case m.nominee.alone:
		return "NoMajority"
	case m.nominee.waiting:
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
	h := &m.holder
	switch {
	case m.roster == nil:
		return Nobody
	case h.acting != nil || h.claiming != nil || h.resigning != nil:
		return Everyone
	case m.nominated == m.self.Name || m.nominee.sounding.purpose != idle || m.follower.consult:
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
	h, n, f := &m.holder, &m.nominee, &m.follower
	if m.roster == nil {
		return next
	}
	if h.acting != nil {
		at(h.renew)
		at(h.acting.deadline())
	}
	if h.claiming != nil && h.acting == nil {
		at(h.renew)
		at(h.claiming.since + h.claiming.lease)
	}
	if h.resigning != nil {
		at(h.told)
	}
	if n.sounding.purpose != idle {
		at(n.sounding.since + max(m.t, m.roster.Timeout))
		at(n.sounding.asked + m.pause())
	} else if h.acting == nil && h.claiming == nil && h.resigning == nil && m.roster.voters() > 0 {
		if m.nominated == m.self.Name && m.stands() && !m.hearing() || f.consult {
			at(n.retry)
		}
		if m.stands() && m.leaderless() {
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
