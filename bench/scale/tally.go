package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// tally counts what is not as it should be.
type tally struct {
	wrong   atomic.Int64
	changed chan struct{} // signals a change; capacity 1
}

func (t *tally) add(n int64) {
	t.wrong.Add(n)
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// awaitRight waits until no status is wrong. It gives up when there was no progress for long. One
// goroutine calls it at a time.
func (s *site) awaitRight(ctx context.Context, what string) error {
	ctx, release := s.untilEnded(ctx)
	defer release()
	least := s.tally.wrong.Load()
	done := during("awaiting: "+what, func() string {
		return fmt.Sprintf("%d of %d statuses are not right", s.tally.wrong.Load(), s.groups)
	})
	defer done()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		wrong := s.tally.wrong.Load()
		if wrong == 0 {
			return nil
		}
		if wrong < least {
			least = wrong
			limit.Reset(patience)
		}
		select {
		case <-s.tally.changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-limit.C:
			return fmt.Errorf("%s: %d statuses are still not right, such as that of %s, and nothing "+
				"has changed for %v", what, wrong, s.someWrong(), patience)
		}
	}
}

// someWrong names a group whose status is not right.
func (s *site) someWrong() string {
	for _, g := range s.all {
		g.mu.Lock()
		right, is := g.right, g.shown
		g.mu.Unlock()
		if !right {
			return fmt.Sprintf("%s/%s (%+v)", g.namespace, g.name, is)
		}
	}
	return "none"
}

// lagBook collects how long statuses took.
type lagBook struct {
	mu  sync.Mutex
	all []time.Duration
}

func (b *lagBook) add(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, d)
}

// take returns what was collected, and begins anew.
func (b *lagBook) take() []time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.all
	b.all = nil
	return all
}
