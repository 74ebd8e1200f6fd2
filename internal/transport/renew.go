package transport

import (
	"errors"
	"io"
	"sync"
	"time"
)

// renewal looks for a stream to succeed one whose certificates will end: made before the other is broken, so that nobody sees
// the link go down.
type renewal struct {
	link       *link
	stream     *stream
	helpers    *sync.WaitGroup
	due        <-chan time.Time // nil if the certificates never end
	timer      *time.Timer
	successors chan *stream // nil comes if there is none yet
}

func (l *link) renew(s *stream, helpers *sync.WaitGroup) *renewal {
	r := &renewal{link: l, stream: s, helpers: helpers, successors: make(chan *stream)}
	if !s.ends.endless() {
		r.timer = time.NewTimer(s.ends.renewal(l.hub.reconnect()))
		r.due = r.timer.C
	}
	return r
}

func (r *renewal) stop() {
	if r.timer != nil {
		r.timer.Stop()
	}
}

func (r *renewal) later() { r.timer.Reset(r.stream.ends.renewal(r.link.hub.reconnect())) }

// begin looks for a successor while the stream goes on.
func (r *renewal) begin() {
	r.helpers.Go(func() {
		next := r.link.successor(r.stream)
		select {
		case r.successors <- next:
		case <-r.stream.ctx.Done():
			if next != nil {
				next.close()
			}
		}
	})
}

// successor is a stream that the peer has accepted and that lasts longer than s; nil if there is none to be had now.
func (l *link) successor(s *stream) *stream {
	next, err := l.attempt(s)
	if err != nil {
		l.hub.log.Debug("link not renewed yet", "to", l.member.Name, "error", err)
		return nil
	}
	return next
}

// handOver ends a stream in order: when it returns nil, the peer has taken in all that was sent, and all its answers that came
// back on it have been heard. What is queued meanwhile is for the next.
func (l *link) handOver(s *stream) error {
	if err := s.CloseSend(); err != nil && !errors.Is(err, io.EOF) {
		return l.explain(err)
	}
	select {
	case <-l.leftward:
		return l.peerHasLeft()
	case <-l.ctx.Done():
		return l.takenAway()
	case <-s.expired:
		return l.peerExpired()
	case err := <-s.over:
		if errors.Is(err, io.EOF) {
			return nil
		}
		return l.explain(err)
	}
}
