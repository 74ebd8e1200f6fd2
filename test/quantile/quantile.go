// Package quantile has the one rule by which what tests and benchmarks measure is summed up.
package quantile

import (
	"cmp"
	"math"
	"slices"
)

// Of returns the nearest rank: the smallest of the values that at least this share of them do not
// exceed. It is one that was measured; of fewer than a hundred values, the worst is also the p99.
// The values may be in any order; without any it is zero.
func Of[T cmp.Ordered](values []T, share float64) T {
	if len(values) == 0 {
		var none T
		return none
	}
	sorted := slices.Sorted(slices.Values(values))
	const rounding = 1e-9 // 0.07 times 100 is a little more than 7
	rank := int(math.Ceil(share*float64(len(sorted)) - rounding))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
