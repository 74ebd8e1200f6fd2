package lease

import "fmt"

// Epoch numbers a lease: generation·2²⁰ + ballot. It only grows, and stays below 2⁵³ for generations below 2³³ (seconds: 272
// years), so that every JSON reader keeps it whole. Zero is no epoch.
type Epoch int64

const (
	ballotBits = 20
	// MaxBallot is the last ballot of a generation. A new generation begins at ballot 1 again.
	MaxBallot = 1<<ballotBits - 1
)

// NewEpoch is the epoch of a ballot of a roster's generation.
func NewEpoch(generation, ballot int64) Epoch { return Epoch(generation<<ballotBits | ballot) }

// Generation is the roster that the epoch was promised under.
func (e Epoch) Generation() int64 { return int64(e) >> ballotBits }

// Ballot counts the claims within a generation.
func (e Epoch) Ballot() int64 { return int64(e) & MaxBallot }

func (e Epoch) String() string { return fmt.Sprintf("%d.%d", e.Generation(), e.Ballot()) }
