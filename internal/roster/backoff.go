package roster

import (
	"math/rand/v2"
	"time"
)

// The bounds of the reconnect backoff.
const (
	minBackoff = time.Second
	maxBackoff = 15 * time.Second
	// steady is how long a session lasts that counts as a success: a manager that accepts and closes at once is none.
	steady = 10 * time.Second
)

// backoff is exponential with full jitter, so that the agents of a cluster do not return to a new manager all at once.
type backoff struct {
	failures int
	random   func(time.Duration) time.Duration // uniform in [0, d)
}

func newBackoff() *backoff { return &backoff{random: rand.N[time.Duration]} }

// next is how long to wait after another failure.
func (b *backoff) next() time.Duration {
	ceiling := maxBackoff
	if b.failures < 4 { // 1 s · 2⁴ is beyond the most
		ceiling = minBackoff << b.failures
	}
	b.failures++
	return b.random(ceiling)
}

func (b *backoff) reset() { b.failures = 0 }
