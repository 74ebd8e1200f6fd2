package register

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
)

func TestParseEpoch(t *testing.T) {
	for text, want := range map[string]int64{
		"0.0":                             0,
		lease.NewEpoch(7, 2).String():     int64(lease.NewEpoch(7, 2)),
		lease.NewEpoch(1<<20, 0).String(): int64(lease.NewEpoch(1<<20, 0)),
	} {
		if got, err := ParseEpoch(text); got != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, bad := range []string{"", ".", "29308660744193", "7.", ".2", "7.2.1", "a.b", "7.-1", "7.99999999999"} {
		if got, err := ParseEpoch(bad); err == nil {
			t.Errorf("%q is read as %d", bad, got)
		}
	}
}
