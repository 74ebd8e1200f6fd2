// Package bubble runs a test in a bubble of testing/synctest, as the race detector can bear it.
//
// All goroutines of a bubble run its timers in one context of the race detector. Two of them on two
// processors, each reading the channel of a timer that is due, corrupt that context, and the
// program dies of a SIGSEGV (golang/go#78156, Go 1.26). On one processor only one of them runs at a
// time. The detector compares what happens before what, so it finds there what it finds on two.
package bubble

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// Test is synctest.Test, with one processor for the whole program until no bubble is left.
func Test(t *testing.T, story func(*testing.T)) {
	t.Helper()
	bubbles.enter()
	defer bubbles.leave()
	synctest.Test(t, story)
}

// open are the bubbles that run now, and how many processors there were before the first of them.
type open struct {
	mu         sync.Mutex
	number     int
	processors int
}

var bubbles open

func (o *open) enter() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.number == 0 {
		o.processors = runtime.GOMAXPROCS(1)
	}
	o.number++
}

func (o *open) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.number--
	if o.number == 0 {
		runtime.GOMAXPROCS(o.processors)
	}
}
