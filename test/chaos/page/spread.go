package page

import (
	"slices"

	"github.com/podesta-dev/podesta/test/quantile"
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
	return Spread{
		N:      len(times),
		Median: quantile.Of(times, 0.5),
		P90:    quantile.Of(times, 0.9),
		Max:    slices.Max(times),
	}
}
