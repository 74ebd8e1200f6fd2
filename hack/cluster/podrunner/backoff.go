package podrunner

import "time"

// Backoff says how long a container that ended waits until it is started again.
type Backoff struct {
	// First is the wait before the first restart; every further wait is twice as long, up to Max.
	First, Max time.Duration
	// Reset is how long a container must have run for the waits to start over.
	Reset time.Duration
}

// DefaultBackoff is quicker than a kubelet's (10 s) at first and the same later.
var DefaultBackoff = Backoff{
	First: time.Second,
	Max:   5 * time.Minute,
	Reset: 10 * time.Minute,
}

// after is the wait for a container that waited `last` the time before (0: it did not) and has now
// run for `ran`.
func (b Backoff) after(last, ran time.Duration) time.Duration {
	if last == 0 || ran >= b.Reset {
		return min(b.First, b.Max)
	}
	return min(2*last, b.Max)
}
