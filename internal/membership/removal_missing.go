package membership

import "time"

// MC6: Missing voters. A voter whose pod is gone, has finished, hangs in Terminating past its grace
// period, or has come back with another state directory, without proof that the voter ended (MC5),
// is removed as an ordinary change of one, and only if the remaining voters have a majority
// connected that can acknowledge it. So is a voter that says that it leaves: it goes on answering
// renewals until then, for 5 s at most. The last voter stays: of no voters there is no majority.

// missingFrom returns since when, or from when on, a voter is missing; zero if it is not.
func (v *voter) missingFrom(leaves bool, now time.Time) time.Time {
	switch pod := v.pod; {
	case pod == nil || pod.Finished || leaves || v.replaced() && !v.reports():
		return now
	case pod.deleting():
		return pod.DeletionDue
	default:
		return time.Time{}
	}
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
