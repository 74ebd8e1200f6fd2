package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/podesta-dev/podesta/test/register"
)

// view is who acts, as the register sees it. It is safe for concurrent use.
type view struct {
	mu     sync.Mutex
	latest map[string]register.Entry // accepted, by group
	waits  []*waiter
}

// waiter is for the first entry of a group that is accepted, by the register and by the predicate.
type waiter struct {
	group  string
	accept func(register.Entry) bool
	found  chan register.Entry // holds one
}

// note takes an entry; the register calls it.
func (v *view) note(e register.Entry) {
	if !e.Accepted {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.latest == nil {
		v.latest = map[string]register.Entry{}
	}
	v.latest[e.Group] = e
	v.waits = slices.DeleteFunc(v.waits, func(w *waiter) bool {
		if w.group != e.Group || !w.accept(e) {
			return false
		}
		w.found <- e
		return true
	})
}

// last is the group's last accepted write; its zero value if there was none.
func (v *view) last(group string) register.Entry {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.latest[group]
}

// expect looks out for a write under a permission that was told after an instant. Over a session a Classic permission is told once
// and then holds: there a check after the instant will do.
func (v *view) expect(group string, at register.Instant) *waiter {
	w := &waiter{group: group, found: make(chan register.Entry, 1), accept: func(e register.Entry) bool {
		return e.Heard > at || e.Session && e.Deadline == 0 && e.Checked > at
	}}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waits = append(v.waits, w)
	return w
}

// await waits for what is expected.
func (v *view) await(ctx context.Context, w *waiter) (register.Entry, error) {
	select {
	case e := <-w.found:
		return e, nil
	case <-ctx.Done():
		v.mu.Lock()
		defer v.mu.Unlock()
		v.waits = slices.DeleteFunc(v.waits, func(other *waiter) bool { return other == w })
		return register.Entry{}, fmt.Errorf("await a process of group %s that may act: %w", w.group, context.Cause(ctx))
	}
}
