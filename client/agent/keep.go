package agent

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// KeepSession keeps a session open as Session does. When a session ends, for example because the
// agent restarted, it opens the next one after a random time of up to 2 s; in between nothing is
// permitted. It returns the context's error when ctx ends, and an error at once if URL is no URL.
func (c *Client) KeepSession(ctx context.Context, fn func(Permission)) error {
	if err := c.Check(); err != nil {
		return err
	}
	return again(ctx, func() (progress bool) {
		err := c.Session(ctx, func(p Permission) {
			progress = true
			fn(p)
		})
		c.report(ctx, err)
		return progress
	})
}

// again calls fn again and again, after a random time whose bound doubles up to 2 s while fn makes
// no progress. It returns the context's error when ctx ends.
func again(ctx context.Context, fn func() (progress bool)) error {
	failures := 0
	for ctx.Err() == nil { // also if ctx has ended at the end of a wait
		if fn() {
			failures = 0
		}
		failures++
		select {
		case <-ctx.Done():
		case <-time.After(wait(failures)):
		}
	}
	return ctx.Err()
}

// wait returns a random time after so many failures in a row. Its bound begins with minBackoff and
// doubles up to maxBackoff.
func wait(failures int) time.Duration {
	const doublings = 6 // more would pass maxBackoff
	bound := minBackoff << min(failures-1, doublings)
	return rand.N(min(bound, maxBackoff)) + 1
}
