package node

import (
	"time"

	"github.com/podesta-dev/podesta/internal/election"
)

// Account is what this process can tell of the election that gave it its coordinator.
type Account struct {
	election.Account
	Duration   time.Duration // from losing the coordinator to following one
	Transcript []string      // the newest lines, bounded
}
