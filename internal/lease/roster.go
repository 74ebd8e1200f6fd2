package lease

import "time"

// Roster is what lease has to know of a roster. Rosters with one Generation are equal.
type Roster struct {
	Group      string // the UID of the group object: generations are compared within one only
	Generation int64
	Heartbeat  time.Duration // between two rounds of renewals
	Timeout    time.Duration // the upper bound of T: how long an answer to a request is waited for
	Lease      time.Duration
	Preemption Policy
	Stable     time.Duration // Delayed: how long a higher process must have answered before it takes over
	Members    []Member
}

// Policy says when a process takes over from a living coordinator of a lower priority.
type Policy string

// The policies.
const (
	Always  Policy = "Always"
	Delayed Policy = "Delayed"
	Never   Policy = "Never"
)

// Member is a process of the roster.
type Member struct {
	Name, UID string
	StateID   string // identity of the state directory of its agent: a voter without its memory is another one
	Priority  int32  // 0 never coordinates
	Voter     bool
}

// outranks orders members as election.Process does.
func (m Member) outranks(o Member) bool {
	if m.Priority != o.Priority {
		return m.Priority > o.Priority
	}
	return m.Name > o.Name
}

// Incarnation is one run of an agent: what a promise binds its voter to. A restarted agent is another
// incarnation, so that nothing that the earlier one told its app is forgotten while it runs.
type Incarnation struct {
	Name    string
	UID     string // of the pod
	StateID string // of the state directory
	Number  uint64 // of the start of the agent
}

// find looks a member up by name.
func (r *Roster) find(name string) (Member, bool) {
	for _, m := range r.Members {
		if m.Name == name {
			return m, true
		}
	}
	return Member{}, false
}

// voters is how many voters there are.
func (r *Roster) voters() (n int) {
	for _, m := range r.Members {
		if m.Voter {
			n++
		}
	}
	return n
}

// rivals reports whether anybody but that process may coordinate.
func (r *Roster) rivals(self string) bool {
	for _, m := range r.Members {
		if m.Name != self && m.Priority > 0 {
			return true
		}
	}
	return false
}

// majority is how many of the voters make one: two majorities share a voter.
func (r *Roster) majority() int { return r.voters()/2 + 1 }

// Tolerates is how many of n voters may be lost while a majority stays. Even numbers tolerate no more than the odd one below.
func Tolerates(n int) int { return max((n-1)/2, 0) }
