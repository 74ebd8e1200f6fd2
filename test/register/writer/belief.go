package writer

import (
	"sync"

	"github.com/podesta-dev/podesta/test/register"
)

// permission is what the agent said last, while it said that this process may act.
type permission struct {
	epoch    int64
	since    register.Instant // told so, without a gap, since
	heard    register.Instant // told so last
	deadline register.Instant // until when; 0 in Classic groups: until told otherwise
	how      Asking
}

// belief is whether this process may act, as far as the writer knows. It is safe for concurrent
// use. What it is told and when it ends goes into the trace before anybody can act upon it.
type belief struct {
	trace *trace

	mu      sync.Mutex
	now     permission
	holds   bool
	ended   bool
	changed chan struct{} // closed at every change
}

func newBelief(t *trace) *belief { return &belief{trace: t, changed: make(chan struct{})} }

// told takes what the agent said. A new epoch, or a gap after the last deadline, begins a new
// belief.
func (b *belief) told(heard register.Instant, a answer, how Asking) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	p := permission{
		epoch:    a.Epoch,
		since:    heard,
		heard:    heard,
		deadline: a.Deadline,
		how:      how,
	}
	if b.holds && b.now.epoch == p.epoch && b.now.current(heard) {
		p.since = b.now.since
	}
	b.trace.add(Line{
		Kind:     Told,
		At:       heard,
		Epoch:    a.Epoch,
		Deadline: a.Deadline,
	})
	b.now, b.holds = p, true
	b.wake()
}

// stop ends the belief, if there is one, and reports whether there was.
func (b *belief) stop(why string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.holds {
		return false
	}
	b.holds = false
	b.trace.add(Line{
		Kind:  Stopped,
		At:    register.Now(),
		Epoch: b.now.epoch,
		Why:   why,
	})
	b.wake()
	return true
}

// end stops for good: nothing is believed any more.
func (b *belief) end(why string) {
	b.stop(why)
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.stop(why) // what was told between the two
}

// check tells whether this process may act at that instant; if not, wait is closed when that may
// have changed.
func (b *belief) check(now register.Instant) (p permission, ok bool, wait <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now, b.holds && b.now.current(now), b.changed
}

// current: the deadline, if there is one, has not come.
func (p permission) current(now register.Instant) bool {
	return p.deadline == 0 || now < p.deadline
}

func (b *belief) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}
