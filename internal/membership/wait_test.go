package membership

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// Membership waits for what lease promises: both count with the same clock drift.
func TestOutlastIsThatOfTheLease(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 7, time.Millisecond, time.Second, 3*time.Second + 1, time.Hour} {
		if got, want := Outlast(d), lease.Outlast(d); got != want {
			t.Errorf("Outlast(%v) is %v here, and %v in lease", d, got, want)
		}
	}
}
