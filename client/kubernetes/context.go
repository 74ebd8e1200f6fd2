package podesta

import (
	"context"
	"errors"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/client/fence"
)

// bind returns a context that ends with parent, and when the lock is lost. It may begin before the
// lock is held. Once it is, the context carries the epoch.
func (l *Lock) bind(parent context.Context) context.Context {
	inner, cancel := context.WithCancelCause(parent)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lost != nil {
		cancel(l.lost)
	}
	l.bases = append(l.bases, cancel)
	return leading{Context: inner, lock: l, end: cancel}
}

// leading is a context of what leads.
type leading struct {
	context.Context

	lock *Lock
	end  context.CancelCauseFunc
}

// Err is not nil once the permission is about to end: it reads the clock, as agent.Run's does.
func (c leading) Err() error {
	if err := c.lock.holds(); errors.Is(err, ErrLost) {
		c.end(err) // whoever ends all contexts may not have come to this one yet
	}
	return c.Context.Err()
}

// Value has the epoch, for fence.EpochOf.
func (c leading) Value(key any) any {
	if epoch := agent.Epoch(c.lock.epoch.Load()); epoch != 0 {
		if value := fence.WithEpoch(context.Background(), epoch).Value(key); value != nil {
			return value
		}
	}
	return c.Context.Value(key)
}
