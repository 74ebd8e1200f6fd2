package connlimit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// TurnLimits bound what is asked for by many and costs somebody something.
type TurnLimits struct {
	AtOnce   int           // of all sources together
	OfSource int           // at once
	Waiting  int           // of one source, those at once included
	Burst    int           // of one source, after a pause
	Refill   time.Duration // after which one more of the burst is free
	Patience time.Duration // how long one waits for a turn
}

// maxSources bounds how many sources are remembered: those that have come lately.
const maxSources = 8192

// Turns hands out turns within limits, so that no source keeps the others waiting. It is safe for
// concurrent use.
type Turns struct {
	TurnLimits
	now  func() time.Time
	free chan struct{}

	mu      sync.Mutex
	sources map[string]*source
}

// source is what one of them has under way, and what is left of its burst.
type source struct {
	free    chan struct{}
	next    chan struct{} // one of them waits among the other sources'
	waiting int
	left    *rate.Limiter
}

// NewTurns returns turns of which none is taken. now is the clock of the bursts.
func NewTurns(l TurnLimits, now func() time.Time) *Turns {
	return &Turns{
		TurnLimits: l,
		now:        now,
		free:       make(chan struct{}, l.AtOnce),
		sources:    map[string]*source{},
	}
}

// ErrBusy is what Take returns if there is no turn. Its text says what to do.
var ErrBusy = errors.New("busy")

type busyError string

func (b busyError) Error() string { return string(b) }

func (busyError) Is(target error) bool { return target == ErrBusy }

// Take waits for a turn, for Patience at most. Whoever gets one gives it back by done.
func (t *Turns) Take(ctx context.Context, name string) (done func(), err error) {
	s, err := t.enter(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.Patience, errTooMany)
	defer cancel()
	if err := wait(ctx, s.free); err != nil {
		t.leave(s)
		return nil, err
	}
	if err := t.wait(ctx, s); err != nil {
		<-s.free
		t.leave(s)
		return nil, err
	}
	return func() {
		<-t.free
		<-s.free
		t.leave(s)
	}, nil
}

// wait waits until one of a source has its turn among the other sources. One at a time does, so
// that sources come by turns, however many each of them has.
func (t *Turns) wait(ctx context.Context, s *source) error {
	if err := wait(ctx, s.next); err != nil {
		return err
	}
	defer func() { <-s.next }()
	return wait(ctx, t.free)
}

const errTooMany busyError = "too many ask at once: try again"

func wait(ctx context.Context, free chan<- struct{}) error {
	select {
	case free <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter lets one more of a source wait, if it has not come too often.
func (t *Turns) enter(name string) (*source, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	s := t.sources[name]
	if s == nil {
		if t.tidy(now); len(t.sources) >= maxSources {
			return nil, errTooMany
		}
		s = &source{
			free: make(chan struct{}, t.OfSource),
			next: make(chan struct{}, 1),
			left: rate.NewLimiter(rate.Every(t.Refill), t.Burst),
		}
		t.sources[name] = s
	}
	switch {
	case s.waiting >= t.Waiting:
		return nil, errTooMany
	case !s.left.AllowN(now, 1):
		return nil, busyError(fmt.Sprintf("%s asks too often: try again in %s", name, t.Refill))
	}
	s.waiting++
	return s, nil
}

func (t *Turns) leave(s *source) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.waiting--
}

// tidy forgets the sources that have nothing under way and their whole burst, when there are many.
func (t *Turns) tidy(now time.Time) {
	if len(t.sources) < maxSources {
		return
	}
	for name, s := range t.sources {
		if s.waiting == 0 && s.left.TokensAt(now) >= float64(t.Burst) {
			delete(t.sources, name)
		}
	}
}
