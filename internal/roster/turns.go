package roster

import (
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// limits bound what is asked for by many and costs the API server something.
type limits struct {
	atOnce    int           // of all sources together
	perSource int           // at once
	waiting   int           // of one source, those at once included
	burst     int           // of one source, after a pause
	refill    time.Duration // after which one more of the burst is free
}

// A source of joins is an address. Where traffic within the cluster is masqueraded that is a node, so a node full of pods must be
// able to start at once. A source of renewals is a pod: it needs one in half a day.
var (
	joinLimits    = limits{atOnce: 16, perSource: 8, waiting: 256, burst: 512, refill: 100 * time.Millisecond}
	renewalLimits = limits{atOnce: 16, perSource: 1, waiting: 2, burst: 8, refill: 10 * time.Second}
)

// maxSources bounds how many sources are remembered: those that have come lately.
const maxSources = 8192

// turns hands out turns within limits, so that no source keeps the others waiting. Safe for concurrent use.
type turns struct {
	limits
	now  func() time.Time
	free chan struct{}

	mu      sync.Mutex
	sources map[string]*source
}

// source is what one of them has under way, and what is left of its burst.
type source struct {
	free    chan struct{}
	waiting int
	left    *rate.Limiter
}

func newTurns(l limits, now func() time.Time) *turns {
	return &turns{limits: l, now: now, free: make(chan struct{}, l.atOnce), sources: map[string]*source{}}
}

// take waits for a turn, joinQueue at most. Whoever gets one gives it back by done.
func (t *turns) take(ctx context.Context, name string) (done func(), err error) {
	s, err := t.enter(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, joinQueue, errTooMany)
	defer cancel()
	if err := wait(ctx, s.free); err != nil {
		t.leave(s)
		return nil, err
	}
	if err := wait(ctx, t.free); err != nil {
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

var errTooMany = status.Error(codes.ResourceExhausted, "too many agents join at once: try again")

func wait(ctx context.Context, free chan<- struct{}) error {
	select {
	case free <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter lets one more of a source wait, if it has not come too often.
func (t *turns) enter(name string) (*source, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	s := t.sources[name]
	if s == nil {
		if t.tidy(now); len(t.sources) >= maxSources {
			return nil, errTooMany
		}
		s = &source{free: make(chan struct{}, t.perSource), left: rate.NewLimiter(rate.Every(t.refill), t.burst)}
		t.sources[name] = s
	}
	switch {
	case s.waiting >= t.waiting:
		return nil, errTooMany
	case !s.left.AllowN(now, 1):
		return nil, status.Errorf(codes.ResourceExhausted, "%s asks too often: try again in %s", name, t.refill)
	}
	s.waiting++
	return s, nil
}

func (t *turns) leave(s *source) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.waiting--
}

// tidy forgets the sources that have nothing under way and their whole burst, when there are many.
func (t *turns) tidy(now time.Time) {
	if len(t.sources) < maxSources {
		return
	}
	for name, s := range t.sources {
		if s.waiting == 0 && s.left.TokensAt(now) >= float64(t.burst) {
			delete(t.sources, name)
		}
	}
}
