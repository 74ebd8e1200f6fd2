package agent

import (
	"context"
	"fmt"
)

// Watch calls fn, on the caller's goroutine, with the process's view: the current one at once, then
// every change. It permits nothing and opens no session. When the stream ends, for example because
// the agent restarted, Watch calls fn with the zero View and opens the next stream after a random
// time of up to 2 s. fn must return soon. Watch returns the context's error when ctx ends, and an
// error at once if URL is no URL.
func (c *Client) Watch(ctx context.Context, fn func(View)) error {
	if err := c.Check(); err != nil {
		return err
	}
	return again(ctx, func() (progress bool) {
		err := c.views(ctx, func(v View) {
			progress = true
			fn(v)
		})
		if progress {
			fn(View{})
		}
		c.report(ctx, err)
		return progress
	})
}

// views calls fn with each view of one stream. The error says why the stream ended.
func (c *Client) views(ctx context.Context, fn func(View)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, err := c.stream(ctx, "/v1/events")
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = readEvents(body, func(e event) error {
		if e.name != "coordinator" {
			return nil
		}
		v, err := view(e.data)
		if err == nil {
			fn(v)
		}
		return err
	})
	return fmt.Errorf("the agent's stream of views ended: %w", err)
}
