package resident

import (
	"runtime/debug"
	"testing"
)

// GOGC is the user's word.
func TestHowOftenGarbageIsCollected(t *testing.T) {
	const before = 77
	for gogc, want := range map[string]int{"": garbage, "200": before} {
		t.Setenv("GOGC", gogc)
		was := debug.SetGCPercent(before)
		CollectOften()
		if got := debug.SetGCPercent(was); got != want {
			t.Errorf("GOGC=%q: garbage of %d %% is collected, want %d", gogc, got, want)
		}
	}
}
