package transport

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

const (
	firstPause   = 10 * time.Millisecond // bounds the pause after the first failed attempt; each further one doubles it
	maxDoublings = 16
)

// link keeps a stream open to one process at one address. Its goroutine alone says Up and Down for it.
type link struct {
	hub    *hub
	member Member
	ctx    context.Context // ends when the link is taken away, and at Close
	cancel context.CancelFunc
	before <-chan struct{} // the link to this process before this one; nil if there was none
	done   chan struct{}   // closed when nothing more comes from this link

	hurried  chan struct{} // the peer was heard to live: the next attempt need not wait
	leftward chan struct{} // the peer said that it leaves
	farewell chan struct{} // closed when the link retires from being up

	mu      sync.Mutex
	state   state
	retired bool
	leaving bool // what it retires with; not changed after farewell
	queue   chan *linkpb.Frame
}

// state is where a link is between its first attempt and its last. Frames are taken while it is not down.
type state int

const (
	making state = iota // the first attempt is under way: nothing has been said yet
	up
	down
)

func newLink(h *hub, m Member, before <-chan struct{}) *link {
	ctx, cancel := context.WithCancel(h.ctx)
	return &link{
		hub:      h,
		member:   m,
		ctx:      ctx,
		cancel:   cancel,
		before:   before,
		done:     make(chan struct{}),
		hurried:  make(chan struct{}, 1),
		leftward: make(chan struct{}, 1),
		farewell: make(chan struct{}),
		queue:    make(chan *linkpb.Frame, queueLength),
	}
}

func (l *link) run() {
	defer close(l.done)
	defer l.setDown()
	defer l.cancel()
	if l.before != nil {
		<-l.before
	}
	for failures := 0; l.pause(failures); {
		stream, err := l.attempt(nil)
		if err != nil {
			failures++
			l.reportFailure(err)
			continue
		}
		opened := time.Now()
		over := l.carry(stream)
		if over == nil {
			return
		}
		l.hub.log.Debug("link lost", "to", l.member.Name, "error", over)
		l.setDown()
		if !l.hub.emit(l.hub.ctx.Done(), Down{Name: l.member.Name, Evidence: evidenceOf(over)}) {
			return
		}
		failures = failuresAfter(failures, time.Since(opened) >= l.hub.reconnect(), evidenceOf(over))
	}
}

// failuresAfter says how patient the next attempt has to be after a link was up. One that lasted is made anew at once; one
// that did not, say because the peer rejects what we send, must not be made anew without end; and who left says Hello when it
// is back.
func failuresAfter(failures int, lasted bool, evidence Evidence) int {
	switch {
	case evidence == Left:
		return maxDoublings
	case lasted:
		return 0
	default:
		return failures + 1
	}
}

// reportFailure says Down for the first attempt, and nothing for the next ones. A link that was taken away before it was up
// has nothing to take back.
func (l *link) reportFailure(err error) {
	if l.ctx.Err() != nil || l.setDown() != making {
		return
	}
	l.hub.log.Debug("link not made", "to", l.member.Name, "error", err)
	l.hub.emit(l.hub.ctx.Done(), Down{Name: l.member.Name, Evidence: evidenceOf(err)})
}

// pause waits before the next attempt: not at all at first, then at random up to a bound that doubles (full jitter). It is
// cut short when the peer is heard to live. False: there will be no attempt.
func (l *link) pause(failures int) bool {
	if failures > 0 && l.member.Address == "" {
		<-l.ctx.Done() // an address makes another link
	}
	if failures > 0 {
		bound := min(l.hub.reconnect(), firstPause<<min(failures-1, maxDoublings))
		timer := time.NewTimer(rand.N(bound) + 1)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-l.hurried:
		case <-l.farewell:
		case <-l.ctx.Done():
		}
	}
	return l.ctx.Err() == nil && !isClosed(l.farewell)
}

// enqueue never blocks; false: the frame is dropped.
func (l *link) enqueue(frame *linkpb.Frame) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == down || l.retired {
		return false
	}
	select {
	case l.queue <- frame:
		return true
	default:
		return false
	}
}

// setUp is false if the link has retired.
func (l *link) setUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.retired {
		return false
	}
	l.state = up
	return true
}

// setDown drops all that is queued and takes nothing until the link is up. It returns the state before.
func (l *link) setDown() state {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.state
	l.state = down
	for {
		select {
		case <-l.queue:
			l.hub.dropped.Add(1)
		case <-l.leftward:
		default:
			return before
		}
	}
}

// retire ends the link: after all that is queued if it is up, and with Leaving if we leave. A peer that reads too slowly does
// not get it all, unless we leave: then it is for the context of Leave to say when it is too late.
func (l *link) retire(leaving bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.retired {
		return
	}
	l.retired, l.leaving = true, leaving
	if l.state != up {
		l.cancel()
		return
	}
	close(l.farewell)
	if !leaving {
		time.AfterFunc(l.hub.patience(), l.cancel)
	}
}

// peerLeft means the life of the peer that the link is up to, or being made to: a link that is down has nothing to lose.
func (l *link) peerLeft() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != down {
		signal(l.leftward)
	}
}

func (l *link) hurry() { signal(l.hurried) }

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
