//go:build race

package election_test

// The race detector makes everything about ten times slower, and what is simulated here runs on one
// goroutine anyway.
func init() { exploreShare /= 20 }
