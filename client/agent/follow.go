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

// Follow keeps a session open, as Session does, and opens the next when one ends (the agent restarted, say), after a random
// time of up to 2 s. Between two, nothing is permitted. It returns the context's error when that ends.
func (c *Client) Follow(ctx context.Context, fn func(Permission)) error {
	backoff := minBackoff
	for {
		heard := false
		err := c.Session(ctx, func(p Permission) {
			heard = true
			fn(p)
		})
		if c.Ended != nil {
			c.Ended(err)
		}
		if heard {
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
