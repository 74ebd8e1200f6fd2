package register

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/podesta-dev/podesta/internal/lease"
)

// ParseEpoch reads an epoch as agents log it: generation and ballot with a dot between them; 0.0 is
// none, which is 0.
func ParseEpoch(text string) (int64, error) {
	generation, ballot, _ := strings.Cut(text, ".")
	g, noGeneration := strconv.ParseInt(generation, 10, 64)
	b, noBallot := strconv.ParseInt(ballot, 10, 64)
	if noGeneration != nil || noBallot != nil || b < 0 || b > lease.MaxBallot {
		return 0, fmt.Errorf("%q is no epoch: want GENERATION.BALLOT", text)
	}
	return int64(lease.NewEpoch(g, b)), nil
}
