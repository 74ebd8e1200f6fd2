package lease

import "fmt"

// Epoch numbers a lease: generation·2²⁰ + ballot. Epochs only grow. They stay below 2⁵³ for
// generations below 2³³ (counted in seconds: 272 years), so that every JSON reader keeps them
// exactly. Zero is not an epoch.
type Epoch int64

const (
	ballotBits = 20
	// MaxBallot is the last ballot of a generation. A new generation begins at ballot 1 again.
	MaxBallot = 1<<ballotBits - 1
)

// NewEpoch returns the epoch of a ballot in a generation of the roster.
func NewEpoch(generation, ballot int64) Epoch { return Epoch(generation<<ballotBits | ballot) }

// Generation returns the generation of the roster under which the epoch is promised.
func (e Epoch) Generation() int64 { return int64(e) >> ballotBits }

// Ballot returns the number of the attempt within the generation.
func (e Epoch) Ballot() int64 { return int64(e) & MaxBallot }

// String writes the epoch as generation.ballot.
func (e Epoch) String() string { return fmt.Sprintf("%d.%d", e.Generation(), e.Ballot()) }
