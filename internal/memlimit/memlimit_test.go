package memlimit

import (
	"math"
	"runtime/debug"
	"strings"
	"testing"
)

func TestShare(t *testing.T) {
	for text, want := range map[string]int64{
		"536870912": 483183820, // 512Mi
		"10":        9,
	} {
		if got, err := share(text); err != nil || got != want {
			t.Errorf("of %s: %d (%v), want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"512Mi", "0", "-1", "9223372036854775807", " 10"} {
		if got, err := share(text); err == nil || !strings.Contains(err.Error(), "in bytes") {
			t.Errorf("of %s: %d (%v), want an error that says what it must be", text, got, err)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, test := range []struct {
		limit, goLimit string
		want           int64
	}{
		{"", "", math.MaxInt64},
		{"1000000000", "1GiB", math.MaxInt64}, // the runtime has read GOMEMLIMIT at its start
		{"1000000000", "", 900000000},
	} {
		debug.SetMemoryLimit(math.MaxInt64)
		t.Setenv(Variable, test.limit)
		t.Setenv("GOMEMLIMIT", test.goLimit)
		if err := FromEnvironment(); err != nil {
			t.Error(err)
		}
		if got := debug.SetMemoryLimit(-1); got != test.want {
			t.Errorf("%q and %q: the limit is %d, want %d", test.limit, test.goLimit, got, test.want)
		}
	}
	t.Setenv(Variable, "much")
	t.Setenv("GOMEMLIMIT", "")
	if FromEnvironment() == nil {
		t.Error("nonsense is no limit")
	}
}
