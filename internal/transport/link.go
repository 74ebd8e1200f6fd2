package transport

import (
	"context"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// link keeps a stream open to one process at one address. Only its goroutine emits Up and Down for
// it.
type link struct {
	hub    *hub
	member Member
	ctx    context.Context // ends when the link is removed, and at Close
	cancel context.CancelFunc
	// closed when the previous link to this process has ended; nil if there was none
	before <-chan struct{}
	done   chan struct{} // closed when nothing more is emitted by this link

	hurried     chan struct{} // the peer has connected to us: the next attempt need not wait
	peerLeaving chan struct{} // the peer leaves
	retiring    chan struct{} // closed when the link retires while it is up

	mu      sync.Mutex
	state   state
	retired bool
	leaving bool // what it retires with; not changed once retiring is closed
	queue   chan *linkpb.Frame
}

// state is where a link is between its first attempt and its last. Frames are accepted unless it is
// down.
type state int

const (
	making state = iota // the first attempt is under way: neither Up nor Down was emitted
	up
	down
)

func newLink(h *hub, m Member, before <-chan struct{}) *link {
	ctx, cancel := context.WithCancel(h.ctx)
	return &link{
		hub:         h,
		member:      m,
		ctx:         ctx,
		cancel:      cancel,
		before:      before,
		done:        make(chan struct{}),
		hurried:     make(chan struct{}, 1),
		peerLeaving: make(chan struct{}, 1),
		retiring:    make(chan struct{}),
		queue:       make(chan *linkpb.Frame, queueLength),
	}
}

func (l *link) run() {
	defer close(l.done)
	defer l.setDown()
	defer l.cancel()
	if l.before != nil {
		<-l.before
	}
	away := absence{since: time.Now()}
	for failures := 0; l.pause(failures); {
		stream, err := l.attempt(nil)
		if err != nil {
			failures++
			l.reportFailure(err)
			away.missing(l, err)
			l.hub.refused(l.member.Name, err)
			continue
		}
		opened := time.Now()
		over := l.carry(stream)
		if over == nil || l.hasLeft() { // Leave promises no Down
			return
		}
		l.hub.log.Debug("link lost", "to", l.member.Name, "error", over)
		l.setDown()
		if !l.hub.emit(nil, Down{Name: l.member.Name, Evidence: evidenceOf(over)}) {
			return
		}
		l.hub.refused(l.member.Name, over)
		away = absence{since: time.Now(), left: evidenceOf(over) == Left}
		failures = failuresAfter(failures, time.Since(opened) >= l.hub.reconnect(),
			evidenceOf(over))
	}
}

// reportFailure emits Down for the first attempt, and nothing for later ones. A link that was
// removed before it was up has nothing to report.
func (l *link) reportFailure(err error) {
	if l.ctx.Err() != nil || l.setDown() != making {
		return
	}
	l.hub.log.Debug("link not made", "to", l.member.Name, "error", err)
	l.hub.emit(nil, Down{Name: l.member.Name, Evidence: evidenceOf(err)})
}

// enqueue never blocks. It returns false if the frame is dropped.
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

// setUp returns false if the link has retired.
func (l *link) setUp() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.retired {
		return false
	}
	l.state = up
	return true
}

// setDown drops everything that is queued, and accepts nothing until the link is up. It returns the
// state before.
func (l *link) setDown() state {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.state
	l.state = down
	for {
		select {
		case <-l.queue:
			l.hub.dropped.Add(1)
		case <-l.peerLeaving:
		default:
			return before
		}
	}
}

// retire ends the link: if it is up, after everything that is queued, and with Leaving if this
// process leaves. A peer that reads too slowly does not get everything, unless this process leaves:
// then the context of Leave limits the time.
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
	close(l.retiring)
	if !leaving {
		time.AfterFunc(l.hub.patience(), l.cancel)
	}
}

// hasLeft reports whether this process leaves or has left.
func (l *link) hasLeft() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leaving
}

// peerLeft handles the peer's Leaving. It concerns the incarnation of the peer that the link is up
// to, or is being made to: a link that is down has nothing to lose.
func (l *link) peerLeft() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state != down {
		signal(l.peerLeaving)
	}
}

func (l *link) hurry() { signal(l.hurried) }

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
