package membership

import "time"

// MC4: Acknowledgement. Voters change only when a majority of the newest roster's voters has
// acknowledged that they are the voters, and two longest leases, by a slow clock, have passed
// since.
//
//   - A voter acknowledges by using, with the state directory that the roster names, the generation
//     that made the last change of voters or of the rules level (MC11), or a later one. It makes no
//     new promise under older ones any more, connected or not. A voter that is known to have ended
//     (MC5) counts, too: it will promise nothing at all.
//   - Two leases: for one of them a voter that took the new roster renews what it had promised
//     under the one before (V4 in internal/lease), and the last of these promises runs for another.
//   - The longest lease is the longest that a promise may still have. It is persisted with the
//     roster. It grows at once when the spec asks for a longer lease, and shrinks to the spec's
//     only when every voter has used a roster with the shorter lease for as long as the longer one
//     runs.
//
// Why it is enough: such a majority shares a voter with every majority of the roster before, so
// when the two leases have passed nobody may act under that one.

// uses reports whether a voter uses a roster of that generation or a later one up to the newest,
// with the state directory that the roster names.
func (v *voter) uses(generation, newest int64) bool {
	r := v.report
	return r != nil && generation > 0 && r.StateID == v.StateID && !r.OtherGroup &&
		r.Generation >= generation && r.Generation <= newest
}

// changeDue reports whether voters may change, and how long that takes if time alone is missing.
// changeAfter is Outlast of two longest leases.
func (s *situation) changeDue() (bool, time.Duration) {
	return elapsed(s.acknowledged, s.changeAfter, s.now)
}

// longestLease returns the longest lease that a promise to any process of the group may have now,
// and when time alone makes it shorter; zero if it takes an event, or it is as short as it gets.
func longestLease(s *State, f *Facts) (longest, again time.Duration) {
	switch {
	case s.roster == nil || s.roster.LongestLease <= f.Lease:
		return f.Lease, 0
	case !tellsPresent(s.roster, f): // the shorter lease has not even been told
		return s.roster.LongestLease, 0
	}
	over, left := elapsed(s.allUse, Outlast(s.roster.LongestLease), f.Now)
	if over {
		return f.Lease, 0
	}
	return s.roster.LongestLease, left
}

// tellsPresent reports whether the roster tells agents what is so now, the lease included.
func tellsPresent(r *Roster, f *Facts) bool {
	members := append([]Member(nil), r.Members...)
	fill(members, r.StepDown, f)
	return digest(members, r.Rules, f) == r.Digest
}
