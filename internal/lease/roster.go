package lease

import (
	"slices"
	"time"
)

// Roster is what the lease protocol needs to know of a roster. Rosters of the same group with the
// same Generation are equal.
type Roster struct {
	Group      string // UID of the group object; generations of different groups do not compare
	Generation int64
	Heartbeat  time.Duration // between two rounds of renewals
	Timeout    time.Duration // the upper bound of T; a pre-vote waits this long for answers
	Lease      time.Duration // the longest
	// LeaseMinimum is the shortest lease that is asked for (LH10); 0: Lease.
	LeaseMinimum time.Duration
	Preemption   Policy
	Stable       time.Duration // Delayed: how long a higher process must have answered before
	Members      []Member
}

// Policy says when a process takes over from a living coordinator of lower priority (PR2).
type Policy string

// The policies.
const (
	Always  Policy = "Always"
	Delayed Policy = "Delayed"
	Never   Policy = "Never"
)

// Member is a process of the roster.
type Member struct {
	Name     string
	UID      string // of the pod
	StateID  string // of its agent's state directory: a voter that lost it is another voter
	Priority int32  // 0 never coordinates
	Voter    bool
	// Created is when the pod was made, in seconds; 0: that is not known.
	Created int64
	// Grace is how long its pod may take to end, if it is being deleted; otherwise 0. The lease
	// protocol does not need it, package node does.
	Grace time.Duration
}

// outranks orders members as election.Process does.
func (m Member) outranks(o Member) bool {
	if m.Priority != o.Priority {
		return m.Priority > o.Priority
	}
	return m.Name > o.Name
}

// succeedsBefore orders the candidates for an heir (LH8): by priority, then the younger pod first,
// then by name.
func (m Member) succeedsBefore(o Member) bool {
	if m.Priority == o.Priority && m.Created != o.Created {
		return m.Created > o.Created
	}
	return m.outranks(o)
}

// Incarnation is one run of an agent. A promise is made to an incarnation: a restarted agent is
// another one, and does not inherit it, because what the earlier one told its app may still hold.
type Incarnation struct {
	Name    string
	UID     string // of the pod
	StateID string // of the state directory
	Number  uint64 // of the start of the agent
}

// find looks a member up by name.
func (r *Roster) find(name string) (Member, bool) {
	for i := range r.Members {
		if r.Members[i].Name == name {
			return r.Members[i], true
		}
	}
	return Member{}, false
}

// indexOf returns where an incarnation stands on the roster; -1 if the roster names another pod or
// another state directory. Of a process that does not vote it may name none.
func (r *Roster) indexOf(i Incarnation) int {
	return slices.IndexFunc(r.Members, func(q Member) bool {
		return q.Name == i.Name && q.UID == i.UID &&
			(q.StateID == i.StateID || q.StateID == "" && !q.Voter)
	})
}

// hasVoter reports whether a member of another roster is a voter of this one, with the same state
// directory.
func (r *Roster) hasVoter(q Member) bool {
	o, ok := r.find(q.Name)
	return ok && o.Voter && o.UID == q.UID && o.StateID == q.StateID
}

// sameVoters reports whether another roster has the same voters.
func (r *Roster) sameVoters(o *Roster) bool {
	return r.voters() == o.voters() && !slices.ContainsFunc(r.Members, func(q Member) bool {
		return q.Voter && !o.hasVoter(q)
	})
}

// voters returns the number of voters.
func (r *Roster) voters() (n int) {
	for i := range r.Members {
		if r.Members[i].Voter {
			n++
		}
	}
	return n
}

// hasRival reports whether any other process may coordinate.
func (r *Roster) hasRival(self string) bool {
	for _, m := range r.Members {
		if m.Name != self && m.Priority > 0 {
			return true
		}
	}
	return false
}

// majority returns how many voters make a majority: any two majorities share a voter.
func (r *Roster) majority() int { return r.voters()/2 + 1 }

// Tolerates returns how many of n voters may be lost while a majority stays. An even number
// tolerates no more than the odd number below it.
func Tolerates(n int) int { return max((n-1)/2, 0) }
