package register

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/podesta-dev/podesta/internal/lease"
)

// ParseEpoch reads an epoch as agents log it: generation and ballot with a dot between them; 0.0 is
// none, which is 0. Agents of earlier commits, which chaos runs beside today's, log one number.
func ParseEpoch(text string) (int64, error) {
	generation, ballot, divided := strings.Cut(text, ".")
	g, err := strconv.ParseInt(generation, 10, 64)
	if err != nil || !divided {
		return g, err
	}
	b, err := strconv.ParseInt(ballot, 10, 64)
	if err != nil {
		return 0, err
	}
	if b < 0 || b > lease.MaxBallot {
		return 0, fmt.Errorf("no ballot of an epoch: %s", text)
	}
	return int64(lease.NewEpoch(g, b)), nil
}
