package lateness

import (
	"slices"
	"testing"
)

func TestWhatOverlapsIsOne(t *testing.T) {
	var l log
	for _, late := range []Late{{10, 20}, {50, 60}, {15, 25}, {25, 30}, {90, 120}} {
		l.add(late)
	}
	if got, want := l.within(20, 100), []Late{{10, 30}, {50, 60}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
