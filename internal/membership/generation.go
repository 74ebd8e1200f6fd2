package membership

import "time"

// MC1: One roster at a time. A roster is persisted in the group's status, on top of the very state
// that was read, before any agent is told; of two managers one gets a conflict. Generations only
// grow: the next is max(last + 1, seconds since 2026-01-01), so that a group that is made again, or
// restored from a backup, does not go back. The seconds are the API server's: a manager whose clock
// is ahead would make generations that others take for lies (MC10), and one whose clock is behind
// might make one twice. Two rosters of one generation tell the agents the same.

// GenerationsBegin is the date since which a generation counts seconds, at least (MC1).
var GenerationsBegin = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// NextGeneration returns the generation that follows the last one (MC1). Without a last one it is
// above what agents report, too, as far as that can be true: they may use a roster that was ahead
// of the clock. Date is what the API server's clock shows.
func NextGeneration(last *Roster, reports []Report, date time.Time) int64 {
	seconds := max(int64(date.Sub(GenerationsBegin)/time.Second), 1)
	if last != nil {
		return max(last.Generation+1, seconds)
	}
	const hour = 60 * 60
	next := seconds
	for i := range reports {
		if g := reports[i].Generation; g < seconds+hour {
			next = max(next, g+1)
		}
	}
	return next
}
