package connlimit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// TurnLimits bound requests that many make and that cost somebody something. Each request comes
// from a source, which cannot be forged, such as an address. It names a tenant, which may be a lie.
type TurnLimits struct {
	AtOnce   int           // of all sources together
	OfSource int           // at once
	Waiting  int           // of one source, those at once included
	OfTenant int           // waiting for one tenant; 0: as many as come
	Burst    int           // of one source, after a pause
	Refill   time.Duration // after which one more of the burst is free
	Patience time.Duration // how long one waits for a turn
}

// maxSources bounds how many sources are remembered: those that have come lately.
const maxSources = 8192

// Turns hands out turns within limits. The next turn goes to the request whose tenant and source
// both had their last turn longest ago. So neither a tenant with many sources nor a source that
// names many tenants keeps others waiting. It is safe for concurrent use.
type Turns struct {
	TurnLimits
	now func() time.Time

	mu      sync.Mutex
	taken   int
	served  int // turns so far
	sources map[string]*source
	tenants map[string]*tenant // those with somebody waiting
	waiting []*waiter          // the one that came first is first
}

// source is what one of them has under way, and what is left of its burst.
type source struct {
	taken   int
	waiting int // those with a turn included
	last    int // the number of its last turn
	left    *rate.Limiter
}

type tenant struct {
	waiting int
	last    int // the number of its last turn, or of the last one when the first of them came
}

type waiter struct {
	tenant string
	source *source
	turn   chan error // nil: it is this one's turn
}

// NewTurns returns turns of which none is taken. now is the clock of the bursts.
func NewTurns(l TurnLimits, now func() time.Time) *Turns {
	return &Turns{
		TurnLimits: l,
		now:        now,
		sources:    map[string]*source{},
		tenants:    map[string]*tenant{},
	}
}

// ErrBusy is what Take returns if there is no turn. Its text says what to do.
var ErrBusy = errors.New("busy")

type busyError string

func (b busyError) Error() string { return string(b) }

func (busyError) Is(target error) bool { return target == ErrBusy }

const errTooMany busyError = "too many ask at once: try again"

// Take waits for a turn, for Patience at most. Whoever gets one gives it back by done.
func (t *Turns) Take(ctx context.Context, tenant, source string) (done func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w, err := t.wait(tenant, source)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.Patience, errTooMany)
	defer cancel()
	select {
	case err = <-w.turn:
	case <-ctx.Done():
		err = t.giveUp(w, context.Cause(ctx))
	}
	if err != nil {
		return nil, err
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.taken--
		w.source.taken--
		w.source.waiting--
		t.handOut()
	}, nil
}

// wait lets one more wait, if its source has not come too often.
func (t *Turns) wait(tenant, source string) (*waiter, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s, err := t.enter(source)
	if err != nil {
		return nil, err
	}
	if !t.makeRoom(tenant, s) {
		return nil, errTooMany
	}
	w := &waiter{tenant, s, make(chan error, 1)}
	s.left.AllowN(t.now(), 1)
	s.waiting++
	t.tenant(tenant).waiting++
	t.waiting = append(t.waiting, w)
	t.handOut()
	return w, nil
}

// giveUp ends the wait for a turn, for a reason. It returns what has come meanwhile.
func (t *Turns) giveUp(w *waiter, reason error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, w); i >= 0 {
		t.end(i, reason)
	}
	return <-w.turn
}

// end ends the wait of one of them: with its turn, if there is no reason.
func (t *Turns) end(i int, reason error) {
	w := t.waiting[i]
	t.waiting = slices.Delete(t.waiting, i, i+1)
	of := t.tenants[w.tenant]
	if of.waiting--; of.waiting == 0 {
		delete(t.tenants, w.tenant)
	}
	if reason != nil {
		w.source.waiting--
	} else {
		t.taken++
		t.served++
		w.source.taken++
		w.source.last, of.last = t.served, t.served
	}
	w.turn <- reason
}

// handOut hands out the turns that are free.
func (t *Turns) handOut() {
	for t.taken < t.AtOnce {
		next := t.next()
		if next < 0 {
			return
		}
		t.end(next, nil)
	}
}

// next returns the index of the request that gets the next turn; -1: there is none. It passes over
// sources that have OfSource turns.
func (t *Turns) next() int {
	next, first, second := -1, 0, 0
	for i, w := range t.waiting {
		if w.source.taken >= t.OfSource {
			continue
		}
		of := t.tenants[w.tenant]
		later, earlier := max(of.last, w.source.last), min(of.last, w.source.last)
		if next < 0 || later < first || later == first && earlier < second {
			next, first, second = i, later, earlier
		}
	}
	return next
}

func (t *Turns) tenant(name string) *tenant {
	of := t.tenants[name]
	if of == nil {
		of = &tenant{last: t.served}
		t.tenants[name] = of
	}
	return of
}

// makeRoom reports whether one more request of a source may wait for a tenant. If OfTenant of them
// wait, the newest request of the source that has most of them is sent away, if that source has
// more than this one would have.
func (t *Turns) makeRoom(tenant string, s *source) bool {
	if of := t.tenants[tenant]; of == nil || t.OfTenant == 0 || of.waiting < t.OfTenant {
		return true
	}
	here, newest := map[*source]int{}, map[*source]int{}
	most := s
	for i, w := range t.waiting {
		if w.tenant != tenant {
			continue
		}
		here[w.source]++
		newest[w.source] = i
		if here[w.source] > here[most] {
			most = w.source
		}
	}
	if here[most] <= here[s]+1 {
		return false
	}
	t.end(newest[most], errTooMany)
	return true
}

// enter returns a source that asks, if it has not come too often.
func (t *Turns) enter(name string) (*source, error) {
	now := t.now()
	s := t.sources[name]
	if s == nil {
		if t.forget(now); len(t.sources) >= maxSources {
			return nil, errTooMany
		}
		s = &source{left: rate.NewLimiter(rate.Every(t.Refill), t.Burst)}
		t.sources[name] = s
	}
	switch {
	case s.waiting >= t.Waiting:
		return nil, errTooMany
	case s.left.TokensAt(now) < 1:
		return nil, busyError(fmt.Sprintf("%s asks too often: try again in %s", name, t.Refill))
	}
	return s, nil
}

// forget forgets the sources that have nothing under way and their whole burst, when there are
// many.
func (t *Turns) forget(now time.Time) {
	if len(t.sources) < maxSources {
		return
	}
	for name, s := range t.sources {
		if s.waiting == 0 && s.left.TokensAt(now) >= float64(t.Burst) {
			delete(t.sources, name)
		}
	}
}
