package membership

import "time"

// MC7: Majority lost. If the voters that nobody expects back are so many that the others are no
// majority, and nothing proves that they ended, nothing changes: they may be acting among
// themselves. The decision names them, and those among them whose pods exist: it may be this
// manager that is cut off.
//
// Nobody expects a voter back that does not report and is missing (MC6), at the end of its grace
// period if its pod is being deleted; or that has not reported for 10 s while other voters report
// and all of them say that there is nobody to follow.

// silentWithin is how long a voter may take to report to a manager that starts, or to come back
// after its connection broke.
const silentWithin = 10 * time.Second

// unreachedWithin is how long newcomers wait for voters that do not report: longer than agents take
// to come back to another manager, also in a large cluster.
const unreachedWithin = 30 * time.Second

// unreachedFrom returns since when, or from when on, nobody counts on a voter to acknowledge a
// change: it has been silent for long; zero if it reports. It makes no difference whom the others
// follow.
func (v *voter) unreachedFrom(begun time.Time) time.Time {
	switch {
	case v.reports():
		return time.Time{}
	case v.report != nil && v.report.Since.After(begun):
		begun = v.report.Since
	}
	return begun.Add(unreachedWithin)
}

// unreached returns the voters that nobody counts on, if they are so many that a newcomer would not
// have a majority of the voters connected:
//
//	voters − unreached + 1 < majority(voters + 1)
//
// where voters counts those that are not known to have ended.
func (s *situation) unreached() (names []string) {
	voters := 0
	for i := range s.voters {
		v := &s.voters[i]
		if v.hasEnded(s.now) {
			continue
		}
		voters++
		silent, _ := elapsed(v.unreached, 0, s.now)
		lost, _ := elapsed(v.lost, 0, s.now)
		if silent || lost {
			names = append(names, v.Name)
		}
	}
	if voters == 0 || voters-len(names)+1 >= Majority(voters+1) {
		return nil
	}
	return names
}

// lostFrom returns since when, or from when on, nobody expects a voter back; zero if somebody does.
func (v *voter) lostFrom(leaderless bool, begun time.Time) time.Time {
	switch {
	case v.reports():
		return time.Time{}
	case v.there() && v.pod.deleting() && !v.replaced():
		return v.pod.DeletionDue
	case !v.missing.IsZero():
		return v.missing
	case !leaderless:
		return time.Time{}
	}
	if v.report != nil && v.report.Since.After(begun) {
		begun = v.report.Since
	}
	return begun.Add(silentWithin)
}

// leaderless reports whether voters report, and all of them that there is nobody to follow. If one
// follows somebody, the manager may only have lost sight of the others.
func leaderless(voters []voter) bool {
	some := false
	for i := range voters {
		if !voters[i].reports() {
			continue
		}
		some = true
		if voters[i].report.Coordinator != "" {
			return false
		}
	}
	return some
}

// majorityLost notes the voters that nobody expects back if there is no majority without them:
//
//	voters − lost < majority(voters)
//
// where voters counts those that are not known to have ended (the others are as good as removed),
// and lost counts those of them that nobody expects back.
func (s *situation) majorityLost(next *step) {
	voters, missing := 0, 0
	for i := range s.voters {
		if v := &s.voters[i]; !v.hasEnded(s.now) {
			voters++
			if gone, _ := elapsed(v.lost, 0, s.now); gone {
				missing++
			}
		}
	}
	if voters-missing >= Majority(voters) {
		return
	}
	for i := range s.voters {
		v := &s.voters[i]
		if gone, _ := elapsed(v.lost, 0, s.now); !gone || v.hasEnded(s.now) {
			continue
		}
		next.lost = append(next.lost, v.Name)
		if v.there() {
			next.silent = append(next.silent, v.Name)
			if v.replaced() {
				next.replaced = append(next.replaced, v.Name)
			}
		}
	}
}
