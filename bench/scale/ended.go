package main

import (
	"context"
	"fmt"
)

// untilEnded returns a context that ends, with a cause, when a manager ends by itself: no phase
// waits for what only that one could do.
func (s *site) untilEnded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	for _, m := range s.managers {
		go func() {
			select {
			case <-ctx.Done():
			case <-m.process.Done():
				exit := m.process.Exit()
				cancel(fmt.Errorf("%s has ended by itself (exit code %d, signal %d): see its log",
					m.name, exit.Code, exit.Signal))
			}
		}()
	}
	return ctx, func() { cancel(nil) }
}
