package page

import (
	"slices"
)

// Spread sums up times, in milliseconds. Each figure is one that was seen (nearest rank); those of
// no times are 0.
type Spread struct {
	N                int
	Median, P90, Max float64
}

// spread sums up times, in any order.
func spread(times []float64) Spread {
	if len(times) == 0 {
		return Spread{}
	}
	sorted := slices.Sorted(slices.Values(times))
	return Spread{
		N:      len(sorted),
		Median: percentile(sorted, 50),
		P90:    percentile(sorted, 90),
		Max:    sorted[len(sorted)-1],
	}
}

// percentile is the smallest of sorted values that at least p percent of them do not exceed. There
// is one value or more.
func percentile(sorted []float64, p int) float64 {
	rank := (p*len(sorted) + 99) / 100
	return sorted[max(rank, 1)-1]
}
