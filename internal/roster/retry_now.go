package roster

import (
	"context"
	"math/rand/v2"
	"time"
)

// hurried is the longest delay of an attempt after Hurry. It spreads the attempts of many agents.
const hurried = time.Second

// pause sleeps, but ends early after a call of Hurry.
func (c *Client) pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-c.hurry: // that was before this pause
	default:
	}
	until, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	select {
	case <-until.Done():
		return ctx.Err() == nil
	case <-c.hurry:
		return sleep(ctx, min(d, rand.N(hurried)))
	}
}

// sleep waits, and returns false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	until, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-until.Done()
	return ctx.Err() == nil
}
