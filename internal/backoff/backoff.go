// Package backoff says how long to wait between attempts at something that fails: exponentially
// longer, with full jitter, so that many who failed at the same moment do not come back at the same
// moment. It keeps no state and waits for nothing; the caller counts its failures.
package backoff

import (
	"math/rand/v2"
	"time"
)

// Wait returns a random time of at least 1 ns and at most Ceiling.
func Wait(first, most time.Duration, failures int) time.Duration {
	return rand.N(Ceiling(first, most, failures)) + 1
}

// Ceiling returns what bounds the wait after so many failures in a row, of which there is at least
// one: first, doubled with each further failure, and most in the end. Both are positive.
func Ceiling(first, most time.Duration, failures int) time.Duration {
	ceiling := first
	for range failures - 1 {
		if ceiling > most/2 {
			return most
		}
		ceiling *= 2
	}
	return min(ceiling, most)
}
