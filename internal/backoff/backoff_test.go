package backoff

import (
	"math"
	"testing"
	"time"
)

func TestCeilingDoublesUpToTheMost(t *testing.T) {
	for i, want := range []time.Duration{1, 2, 4, 8, 15, 15} {
		if got := Ceiling(time.Second, 15*time.Second, i+1); got != want*time.Second {
			t.Errorf("failure %d: at most %v, want %v", i+1, got, want*time.Second)
		}
	}
	for _, most := range []time.Duration{1, time.Second, math.MaxInt64} {
		if got := Ceiling(10*time.Millisecond, most, 1000); got != most {
			t.Errorf("after 1000 failures at most %v, want %v", got, most)
		}
	}
}

// Full jitter: the waits are spread over all of what is allowed, and never zero.
func TestWaitIsSpread(t *testing.T) {
	const first, most, n = 10 * time.Millisecond, time.Second, 4000
	ceiling := Ceiling(first, most, 3)
	low := 0
	for range n {
		w := Wait(first, most, 3)
		if w < 1 || w > ceiling {
			t.Fatalf("waits %v, at most %v", w, ceiling)
		}
		if w <= ceiling/2 {
			low++
		}
	}
	if low < n*2/5 || low > n*3/5 {
		t.Errorf("%d of %d waits are in the lower half", low, n)
	}
}
