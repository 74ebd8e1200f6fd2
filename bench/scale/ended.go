package main

import (
	"context"
	"fmt"
)

// replaceEnded starts managers again that have ended, as a kubelet does. While tens of thousands of
// objects are made, a manager may not get its Lease renewed in time.
func (s *site) replaceEnded(ctx context.Context) error {
	ended := 0
	for i, m := range s.managers {
		select {
		case <-m.process.Done():
		default:
			continue
		}
		next, err := s.startManager(ctx, i)
		if err != nil {
			return err
		}
		s.managers[i] = next
		ended++
	}
	s.results.add("objects", "managers that ended while they were made", float64(ended), "")
	return s.awaitLeader(ctx)
}

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
