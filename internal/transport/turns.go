package transport

import (
	"context"
	"sync"
	"time"
)

const (
	// attemptsAtOnce is how many attempts a process makes at a time. A handshake costs both ends
	// CPU. Where all processes of a large group make all their links at once, on few CPUs, each
	// handshake lasts as long as all of them together; longer than an attempt may, in the end, so
	// that all are given up, begun again, and none is ever finished.
	attemptsAtOnce = 4

	// leastTurn is how long an attempt may keep its turn at least, however quick the last ones were:
	// longer than a handshake within a region takes.
	leastTurn = 50 * time.Millisecond

	// slowerThan is how many times longer than the last handshakes an attempt may keep its turn.
	slowerThan = 4
)

// turns has attempts wait for each other, in the order in which they ask. An attempt keeps its turn
// until it ends, or until it has taken several times as long as the last ones that succeeded: then
// its peer does not answer, and the attempt goes on without a turn.
type turns struct {
	taken chan struct{} // has an element for each turn that is taken

	mu sync.Mutex
	// what the last attempts took that succeeded; the newest weighs a quarter. Zero if none has.
	took time.Duration
}

// turn is the right to make an attempt.
type turn struct {
	of    *turns
	begun time.Time
	over  *time.Timer
	leave func()
}

func newTurns() *turns { return &turns{taken: make(chan struct{}, attemptsAtOnce)} }

// take waits for a turn. It returns nil if ctx ends first, or something comes from early. An
// attempt is given up after longest.
func (t *turns) take(ctx context.Context, longest time.Duration, early <-chan struct{}) *turn {
	select {
	case t.taken <- struct{}{}:
	case <-early:
		return nil
	case <-ctx.Done():
		return nil
	}
	leave := sync.OnceFunc(func() { <-t.taken })
	return &turn{
		of:    t,
		begun: time.Now(),
		over:  time.AfterFunc(t.lasts(longest), leave),
		leave: leave,
	}
}

// lasts returns how long a turn lasts: a third of the longest attempt while none has succeeded.
func (t *turns) lasts(longest time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.took == 0 {
		return longest / 3
	}
	return max(slowerThan*t.took, leastTurn)
}

// end gives the turn back.
func (t *turn) end(succeeded bool) {
	t.over.Stop()
	t.leave()
	if succeeded {
		t.of.note(time.Since(t.begun))
	}
}

// note counts in what an attempt has taken.
func (t *turns) note(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.took == 0 {
		t.took = took
	}
	t.took += (took - t.took) / 4
}
