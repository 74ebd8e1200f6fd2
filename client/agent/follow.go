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

// Follow keeps a session open as Session does. When a session ends, for example because the agent
// restarted, it opens the next one after a random time of up to 2 s; in between nothing is
// permitted. It returns the context's error when ctx ends.
func (c *Client) Follow(ctx context.Context, fn func(Permission)) error {
	backoff := minBackoff
	for {
		received := false
		err := c.Session(ctx, func(p Permission) {
			received = true
			fn(p)
		})
		if c.Ended != nil {
			c.Ended(err)
		}
		if received {
			backoff = minBackoff
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(backoff)):
		}
		backoff = min(2*backoff, maxBackoff)
	}
}
