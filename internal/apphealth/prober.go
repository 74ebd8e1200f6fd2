package apphealth

import (
	"context"
	"sync/atomic"
	"time"
)

// Prober probes an app and reports each change of its health. It runs one Probe at a time. The app
// counts as healthy before the first change, and when it is no longer probed. When the Probe is
// replaced, the health is kept and the consecutive results are counted anew.
type Prober struct {
	newest  atomic.Pointer[Probe]
	wake    chan struct{} // signals that newest has changed; capacity 1
	changes chan error
}

// NewProber returns a Prober that does not probe yet.
func NewProber() *Prober {
	return &Prober{wake: make(chan struct{}, 1), changes: make(chan error)}
}

// Use makes the Prober use this Probe from now on; nil stops probing. It does not block and is safe
// for concurrent use.
func (p *Prober) Use(probe *Probe) {
	p.newest.Store(probe)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Changes returns the channel on which changes of the health arrive: nil when the app has become
// healthy, and the reason when it has become unhealthy. A change that is undone before it was
// received is not sent.
func (p *Prober) Changes() <-chan error { return p.changes }

// Run probes until ctx ends. It must be called once.
func (p *Prober) Run(ctx context.Context) {
	var q attempts
	defer func() { q.stop() }()
	var h health
	for sent := false; ; { // sent: the last change received was to unhealthy
		var changes chan<- error
		if h.unhealthy != sent {
			changes = p.changes
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
			q.stop()
			q = begin(p.newest.Load())
			if h.streak = 0; q.probe == nil {
				h = health{}
			}
		case <-q.due():
			q.start(ctx)
		case err := <-q.results:
			q.running = false
			if ctx.Err() == nil { // otherwise the probe failed because ctx ended
				h.record(err, q.probe)
			}
		case changes <- h.reason:
			sent = h.unhealthy
		}
	}
}

// health is the health of the app according to the results so far.
type health struct {
	unhealthy bool
	reason    error // why the app is unhealthy; nil if it is healthy
	streak    int   // consecutive results that contradict the health
}

func (h *health) record(err error, p *Probe) {
	if (err != nil) == h.unhealthy {
		h.streak = 0
		return
	}
	threshold := p.FailureThreshold
	if h.unhealthy {
		threshold = p.SuccessThreshold
	}
	if h.streak++; h.streak >= threshold {
		*h = health{unhealthy: err != nil, reason: err}
	}
}

// attempts runs the attempts of one Probe, one at a time. An attempt that takes longer than a
// period delays the next one. The zero value does nothing.
type attempts struct {
	probe   *Probe
	ticker  *time.Ticker
	results chan error         // capacity 1
	running bool               // an attempt has not returned yet
	cancel  context.CancelFunc // cancels that attempt
}

func begin(probe *Probe) attempts {
	if probe == nil {
		return attempts{}
	}
	return attempts{
		probe:   probe,
		ticker:  time.NewTicker(probe.Period),
		results: make(chan error, 1),
	}
}

// due returns the channel that fires when the next attempt is due.
func (q *attempts) due() <-chan time.Time {
	if q.probe == nil || q.running {
		return nil
	}
	return q.ticker.C
}

func (q *attempts) start(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, q.probe.Timeout)
	q.running, q.cancel = true, cancel
	probe, results := q.probe, q.results
	go func() {
		defer cancel()
		results <- probe.Check(ctx)
	}()
}

// stop cancels a running attempt and waits until it has returned.
func (q *attempts) stop() {
	if q.probe == nil {
		return
	}
	q.ticker.Stop()
	if q.running {
		q.cancel()
		<-q.results //nolint:errcheck // the result of a canceled attempt means nothing
	}
}
