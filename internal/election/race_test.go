//go:build race

package election_test

// The race detector makes everything about ten times as slow, and what is simulated here runs on one goroutine anyway.
func init() { share, exploreShare = share/8, exploreShare/20 }
