package membership

import "slices"

// Followed returns the process that a majority of a group follows, and the highest epoch that a
// majority of the group has reached under it; empty: there is none. Of says how many count, and
// epochs has, for each process that is followed, the epoch of every follower that counts: 0 in a
// Classic group.
//
// An epoch changes in place while a new roster spreads: until a majority has reached it, it may not
// be the leaseholder's.
func Followed(of int, epochs map[string][]int64) (name string, epoch int64) {
	needed := Majority(of)
	for name, reached := range epochs { // no two of them have a majority
		if len(reached) >= needed {
			reached = slices.Sorted(slices.Values(reached))
			return name, reached[len(reached)-needed]
		}
	}
	return "", 0
}
