package node

// NotCandidate is why a process is no candidate, in a word of internal/roster's reports; empty if it
// is one.
type NotCandidate string

// Why a process is no candidate.
const (
	// IsLeaving: it is about to end on purpose.
	IsLeaving NotCandidate = "Leaving"
	// HasPriorityZero: the roster gives it priority 0.
	HasPriorityZero NotCandidate = "PriorityZero"
	// AppUnhealthy: the app says, or its probe has found, that it cannot do a coordinator's work.
	AppUnhealthy NotCandidate = "Unhealthy"
	// SessionClosed: the app had a session with the agent, and has none any more.
	SessionClosed NotCandidate = "SessionClosed"
	// IsResting: it reached no majority, or lost its lease by standing still, and is no candidate
	// for a while (C5, LH4).
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
	case n.withdrawn:
		return n.ailment
	case n.guarded() && n.rests:
		return IsResting
	default:
		return ""
	}
}
