package podesta

import (
	"context"

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
	return leading{Context: inner, lock: l}
}

// leading is a context of what leads.
type leading struct {
	context.Context
	lock *Lock
}

// Err is not nil once the permission is about to end: it reads the clock, as agent.Run's does.
func (c leading) Err() error {
	_ = c.lock.holds() // if it is lost, this context ends
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
