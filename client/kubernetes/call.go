package podesta

import (
	"context"
	"errors"
	"sync"
)

var errGoexit = errors.New("OnStartedLeading did not return: it panicked, or called runtime.Goexit")

// call is the one call of OnStartedLeading, which client-go starts in a goroutine of its own and
// never waits for.
type call struct {
	lock  *Lock
	begin func(context.Context)

	mu      sync.Mutex
	started bool
	early   bool // it returned while it led: what it has started may go on
	closed  bool // the elector has returned, so it is too late to start
}

func (c *call) start(ctx context.Context) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.started = true
	c.mu.Unlock()
	ctx = c.lock.bind(ctx)
	returned := false
	defer func() { c.ended(ctx, returned) }()
	c.begin(ctx)
	returned = true
}

// ended is called when OnStartedLeading has ended. If its context had ended before, nothing leads
// any more.
func (c *call) ended(ctx context.Context, returned bool) {
	c.mu.Lock()
	c.early = !c.closed && ctx.Err() == nil
	early := c.early
	c.mu.Unlock()
	switch {
	case !early:
		c.lock.stop(context.Cause(ctx))
	case !returned:
		c.lock.lose(errGoexit)
	}
}

// close ends the time in which the call may start. It reports whether the call has started, and
// whether the call returned while the process led.
func (c *call) close() (started, early bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	return c.started, c.early
}
