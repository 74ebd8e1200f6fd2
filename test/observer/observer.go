// Package observer watches what the agents of a group say, all at once, and tells when they agree.
// It reads their event streams as an app would; what it measures includes the way from the agent to
// the app.
package observer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Observer follows the event streams of agents. It is safe for concurrent use.
type Observer struct {
	mu      sync.Mutex
	views   map[string]view // by process; absent while its stream is not open
	broken  error           // what an agent said that is no event
	changed chan struct{}
	streams map[string]context.CancelFunc
	group   sync.WaitGroup
}

// view is what a process said last, and when that was heard.
type view struct {
	coordinator string
	electing    bool
	at          time.Time
}

// retry is how long a stream that could not be opened waits for the next attempt.
const retry = 20 * time.Millisecond

// New returns a observer that watches nobody.
func New() *Observer {
	return &Observer{
		views:   map[string]view{},
		streams: map[string]context.CancelFunc{},
		changed: make(chan struct{}),
	}
}

// Watch follows a process whose app API is at the given address, until Forget or Close. A stream
// that ends is opened again.
func (w *Observer) Watch(process, address string) {
	w.Forget(process)
	ctx, cancel := context.WithCancel(context.Background())
	w.mu.Lock()
	w.streams[process] = cancel
	w.mu.Unlock()
	w.group.Go(func() {
		for ctx.Err() == nil {
			w.follow(ctx, process, address)
			w.set(process, nil)
			select {
			case <-ctx.Done():
			case <-time.After(retry):
			}
		}
	})
}

// Forget ends watching a process.
func (w *Observer) Forget(process string) {
	w.mu.Lock()
	cancel := w.streams[process]
	delete(w.streams, process)
	w.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// Close ends watching all.
func (w *Observer) Close() {
	w.mu.Lock()
	for _, cancel := range w.streams {
		cancel()
	}
	w.mu.Unlock()
	w.group.Wait()
}

func (w *Observer) follow(ctx context.Context, process, address string) {
	err := Follow(ctx, address, func(e Event) {
		w.set(process, &view{
			coordinator: e.Coordinator,
			electing:    e.Electing,
			at:          time.Now(),
		})
	})
	if errors.Is(err, ErrNoEvent) {
		w.breaks(fmt.Errorf("%s said %w", process, err))
	}
}

// breaks notes that an agent does not say what agents say: Await returns the first such error.
func (w *Observer) breaks(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken == nil {
		w.broken = err
	}
	w.wake()
}

func (w *Observer) set(process string, v *view) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if v == nil {
		delete(w.views, process)
	} else {
		w.views[process] = *v
	}
	w.wake()
}

// wake wakes all who wait. The lock is held.
func (w *Observer) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// Agreement is one coordinator for all.
type Agreement struct {
	Coordinator string
	At          time.Time // when the last of the processes was heard to name it
}

// After returns how long it took from the cause to the agreement. It is an error if the agreement
// was there before: then something else was seen.
func (a Agreement) After(cause time.Time) (time.Duration, error) {
	return After(cause, a.At)
}

// After returns how long it took from a cause to its effect. An effect before its cause is an
// error.
func After(cause, effect time.Time) (time.Duration, error) {
	took := effect.Sub(cause)
	if took < 0 {
		return took, fmt.Errorf("seen %v before its cause: what was measured is something else", -took)
	}
	return took, nil
}

// Await returns when all the given processes name the same coordinator, none of them electing, and
// accept holds for it (nil: any will do). The error tells who says what.
func (w *Observer) Await(
	ctx context.Context, processes []string, accept func(coordinator string) bool,
) (Agreement, error) {
	for {
		w.mu.Lock()
		agreement, ok := w.agreement(processes)
		changed, broken := w.changed, w.broken
		w.mu.Unlock()
		if broken != nil {
			return Agreement{}, broken
		}
		if ok && (accept == nil || accept(agreement.Coordinator)) {
			return agreement, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Agreement{}, fmt.Errorf("no agreement: %s: %w", w.Describe(processes), context.Cause(ctx))
		}
	}
}

func (w *Observer) agreement(processes []string) (a Agreement, ok bool) {
	for _, p := range processes {
		v, seen := w.views[p]
		if !seen || v.coordinator == "" || v.electing ||
			a.Coordinator != "" && a.Coordinator != v.coordinator {
			return a, false
		}
		a.Coordinator = v.coordinator
		if v.at.After(a.At) {
			a.At = v.at
		}
	}
	return a, len(processes) > 0
}

// Describe tells who says what.
func (w *Observer) Describe(processes []string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := make([]string, 0, len(processes))
	for _, p := range processes {
		v, seen := w.views[p]
		switch {
		case !seen:
			said = append(said, p+" is not heard")
		case v.electing:
			said = append(said, p+" elects")
		default:
			said = append(said, fmt.Sprintf("%s says %q", p, v.coordinator))
		}
	}
	slices.Sort(said)
	return strings.Join(said, ", ")
}
