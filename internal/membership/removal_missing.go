package membership

import "time"

// MC6: Missing voters. A voter is missing if its pod is gone, has finished, or has come back with
// another state directory, and nothing proves that the voter ended (MC5). It is removed as an
// ordinary change of one, and only if the remaining voters have a majority connected that can
// acknowledge it. So is a voter that is on its way out: its pod is being deleted, or its agent says
// that it leaves. The last voter stays: of no voters there is no majority.
//
// An agent that leaves goes on voting until a roster no longer names it as a voter. It has 5 s for
// that. Once its roster says that its pod is being deleted, it has until a second before the pod's
// grace period ends. So a rollout that ends its pods quickly does not take the group's majority
// away. An agent that uses such a roster counts as connected until it has left. Any two majorities
// of the voters before and after the change share a voter, so this needs no proof that the voter
// ended.

// missingFrom returns since when, or from when on, a voter is missing or on its way out; zero if it
// is neither.
func (v *voter) missingFrom(leaves bool, now time.Time) time.Time {
	if departs(v.pod) || leaves || v.replaced() && !v.reports() {
		return now
	}
	return time.Time{}
}

// removable returns the index of the first missing voter without which the others carry on, or
// nobody.
func (s *situation) removable() int {
	for i := range s.voters {
		missing, _ := elapsed(s.voters[i].missing, 0, s.now)
		if missing && s.carries(len(s.voters)-1, i, 0) {
			return i
		}
	}
	return nobody
}
