package node

import (
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// NotCandidate is why a process is no candidate, in a word of internal/roster's reports; empty if
// it is one.
type NotCandidate string

// Why a process is no candidate.
const (
	// IsLeaving: it is about to end on purpose.
	IsLeaving NotCandidate = "Leaving"
	// HasPriorityZero: the roster gives it priority 0.
	HasPriorityZero NotCandidate = "PriorityZero"
	// AppUnhealthy: the app says, or its probe has found, that it cannot do a coordinator's work.
	AppUnhealthy NotCandidate = "Unhealthy"
	// NoSession: the app has no session with the agent, though it had one, or its pod or the group
	// wants one.
	NoSession NotCandidate = "NoSession"
	// IsResting: it reached no majority, lost its lease by standing still, or was restarted while its
	// own voter was bound to it, and is no candidate for a while (C5, LH4, C10).
	IsResting NotCandidate = "Resting"
)

// notCandidate returns why this process is no candidate now. Of several reasons it returns the one
// that lasts the longest, or that a person can do most about.
func (n *Node) notCandidate() NotCandidate {
	m, _ := n.roster.find(n.self.Name)
	switch {
	case n.leaving.since != 0:
		return IsLeaving
	case m.Priority == 0:
		return HasPriorityZero
	case n.unhealthy:
		return AppUnhealthy
	case n.deserted:
		return NoSession
	case n.guarded() && n.rests:
		return IsResting
	default:
		return ""
	}
}

// rest withdraws a process that rests from the election, and brings it back (C5, C10, LH4).
func (n *Node) rest() {
	rests := n.lease.Rests()
	if rests == n.rests {
		return
	}
	n.rests = rests
	switch {
	case n.withdrawn:
	case rests:
		n.elect(election.Event{Type: election.Withdraw})
	default:
		n.elect(election.Event{Type: election.Restore})
	}
}

// hinder withdraws a process whose app is unhealthy or has deserted it, and restores it when
// neither is so. The agent goes on answering and forwarding: "the control part of a failed process
// continues to function" (seed 000).
func (n *Node) hinder(unhealthy, deserted bool) {
	if n.leaving.since != 0 || unhealthy == n.unhealthy && deserted == n.deserted {
		return
	}
	n.unhealthy, n.deserted, n.stirred = unhealthy, deserted, true
	switch hindered := unhealthy || deserted; {
	case hindered == n.withdrawn: // only the reason is another one
	case hindered:
		n.withdraw()
		n.note(Note{Type: Withdraws})
	default:
		n.restore()
		n.note(Note{Type: Restored})
	}
}

// withdraw ends the candidacy of this process. A leaseholder steps down before it calls an
// election.
func (n *Node) withdraw() {
	n.withdrawn = true
	n.authorise(lease.Event{Type: lease.Withdrawn})
	n.elect(election.Event{Type: election.Withdraw})
}

// restore makes this process a candidate again. One that rests is restored when it has rested.
func (n *Node) restore() {
	n.withdrawn = false
	if !n.rests {
		n.elect(election.Event{Type: election.Restore})
	}
	n.authorise(lease.Event{Type: lease.Restored})
}
