//go:build race

package lease_test

// The race detector makes an exploration ten times slower, and finds nothing in it: it has one
// goroutine.
func init() { exploreShare, wanderShare = 5_000, 100 }
