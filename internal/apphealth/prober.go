package apphealth

import (
	"context"
	"sync/atomic"
	"time"
)

// Prober asks an app by one probe at a time, and says each turn of the response. Before the first turn an app counts as well, and
// so does one that is asked no more. Another probe takes over the response of the one before, and counts anew.
type Prober struct {
	newest atomic.Pointer[Probe]
	wake   chan struct{} // newest has changed; capacity 1
	turns  chan error
}

// NewProber returns a prober that asks nothing yet.
func NewProber() *Prober {
	return &Prober{wake: make(chan struct{}, 1), turns: make(chan error)}
}

// Use has the app asked by this probe from now on; nil: not at all. It never blocks, and may be called by any goroutine.
func (p *Prober) Use(probe *Probe) {
	p.newest.Store(probe)
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// Turns is where the turns of the response are taken: nil when the app is well again, else what ails it. A turn that was taken
// back before anybody took it is never said.
func (p *Prober) Turns() <-chan error { return p.turns }

// Run asks until ctx ends. It is called once.
func (p *Prober) Run(ctx context.Context) {
	var q questions
	defer func() { q.end() }()
	var v response
	for said := false; ; { // said: the turn that was last taken is that it is ill
		var turns chan<- error
		if v.ill != said {
			turns = p.turns
		}
		select {
		case <-ctx.Done():
			return
		case <-p.wake:
			q.end()
			q = begin(p.newest.Load())
			if v.row = 0; q.probe == nil {
				v = response{}
			}
		case <-q.due():
			q.ask(ctx)
		case err := <-q.answers:
			q.open = false
			if ctx.Err() == nil { // else it was not the app's
				v.judge(err, q.probe)
			}
		case turns <- v.ailment:
			said = v.ill
		}
	}
}

// response is what the answers so far make of the app.
type response struct {
	ill     bool
	ailment error // nil: it is well
	row     int   // how many answers in a row speak against the response
}

func (v *response) judge(err error, p *Probe) {
	if (err != nil) == v.ill {
		v.row = 0
		return
	}
	if v.row++; !v.ill && v.row >= p.ToIll || v.ill && v.row >= p.ToWell {
		*v = response{ill: err != nil, ailment: err}
	}
}

// questions are those of one probe, one at a time; an answer that takes longer than a period puts the next one off. The zero
// value asks nothing.
type questions struct {
	probe   *Probe
	ticker  *time.Ticker
	answers chan error         // capacity 1
	open    bool               // a question is not answered yet
	cancel  context.CancelFunc // of that question
}

func begin(probe *Probe) questions {
	if probe == nil {
		return questions{}
	}
	return questions{probe: probe, ticker: time.NewTicker(probe.Every), answers: make(chan error, 1)}
}

// due is when the next question is.
func (q *questions) due() <-chan time.Time {
	if q.probe == nil || q.open {
		return nil
	}
	return q.ticker.C
}

func (q *questions) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, q.probe.Within)
	q.open, q.cancel = true, cancel
	probe, answers := q.probe, q.answers
	go func() {
		defer cancel()
		answers <- probe.Check(ctx)
	}()
}

// end cancels the question that is open, and returns when it is over.
func (q *questions) end() {
	if q.probe == nil {
		return
	}
	q.ticker.Stop()
	if q.open {
		q.cancel()
		<-q.answers //nolint:errcheck // whatever it is, nobody asks any more
	}
}
