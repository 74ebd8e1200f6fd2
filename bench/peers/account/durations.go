package account

import (
	"time"

	"github.com/podesta-dev/podesta/test/quantile"
)

// Durations are what was measured, in any order.
type Durations []time.Duration

// Quantile is the nearest rank: a value that was measured. It is 0 without any.
func (d Durations) Quantile(q float64) time.Duration {
	return quantile.Of(d, q)
}

// Milliseconds are the durations as numbers.
func (d Durations) Milliseconds() []float64 {
	all := make([]float64, len(d))
	for i, one := range d {
		all[i] = float64(one.Microseconds()) / 1000
	}
	return all
}

// Milliseconds are numbers as durations.
func Milliseconds(numbers []float64) Durations {
	all := make(Durations, len(numbers))
	for i, n := range numbers {
		all[i] = time.Duration(n * float64(time.Millisecond))
	}
	return all
}
