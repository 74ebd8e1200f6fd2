package detector

import "time"

// estimate is the smoothed mean of round trips and its deviation (Jacobson and Karels 1988; RFC
// 6298 has the constants).
type estimate struct {
	mean, deviation time.Duration
	samples         int
}

func (e *estimate) add(sample time.Duration) {
	if e.samples++; e.samples == 1 {
		e.mean, e.deviation = sample, sample/2
		return
	}
	e.deviation += (max(sample-e.mean, e.mean-sample) - e.deviation) / 4
	e.mean += (sample - e.mean) / 8
}

// bound is what a round trip hardly exceeds.
func (e *estimate) bound() time.Duration { return e.mean + 4*e.deviation }
