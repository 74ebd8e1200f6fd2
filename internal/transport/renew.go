package transport

import (
	"errors"
	"io"
	"sync"
	"time"
)

// renewal looks for a stream to succeed one whose certificates will expire. The new one is made
// before the old one ends, so that the link does not go down.
type renewal struct {
	link       *link
	stream     *stream
	background *sync.WaitGroup
	due        <-chan time.Time // nil if the certificates never expire
	timer      *time.Timer
	successors chan *stream // receives nil if there is no successor yet
}

func (l *link) renew(s *stream, background *sync.WaitGroup) *renewal {
	r := &renewal{
		link:       l,
		stream:     s,
		background: background,
		successors: make(chan *stream),
	}
	if !s.both().endless() {
		r.timer = time.NewTimer(s.both().renewal(l.hub.reconnect()))
		r.due = r.timer.C
	}
	return r
}

func (r *renewal) stop() {
	if r.timer != nil {
		r.timer.Stop()
	}
}

func (r *renewal) later() { r.timer.Reset(r.stream.both().renewal(r.link.hub.reconnect())) }

// begin looks for a successor while the stream goes on.
func (r *renewal) begin() {
	r.background.Go(func() {
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

// successor returns a stream that the peer has accepted and that lasts longer than s; nil if that
// is not possible now.
func (l *link) successor(s *stream) *stream {
	next, err := l.attempt(s)
	if err != nil {
		l.hub.log.Debug("link not renewed yet", "to", l.member.Name, "error", err)
		return nil
	}
	return next
}

// handOver ends a stream in order. When it returns nil, the peer has received everything that was
// sent on it, and all its answers on it have arrived. What is queued in the meantime is sent on the
// next stream.
func (l *link) handOver(s *stream) error {
	s.sendFrame(endFrame()) //nolint:errcheck // s.over has the reason
	select {
	case <-l.peerLeaving:
		return l.errPeerLeft()
	case <-l.ctx.Done():
		return l.errRemoved()
	case <-s.expired:
		return l.errPeerExpired()
	case err := <-s.over:
		if errors.Is(err, io.EOF) {
			return nil
		}
		return l.explain(err)
	}
}
