package transport

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// pipe is a stream in memory. What is sent arrives after the network's delay and in order, unless
// that direction is cut.
type pipe struct {
	network   *Network
	silence   time.Duration // after this time without anything received, an end gives up
	names     [2]string     // by end
	certified [2]validity   // by end
	frames    chan parcel[*linkpb.Frame]
	answers   chan parcel[*linkpb.Answer]
	accepted  chan struct{}
	accept    sync.Once
	sides     [2]side // by end
}

// end is one of the two ends of a pipe. The client opened it.
type end int

const (
	client end = iota
	server
)

func (e end) other() end { return 1 - e }

// side is the state of the stream at one end.
type side struct {
	unplug func()
	once   sync.Once
	ended  chan struct{}
	reason error // nil if the stream ended in order; valid once ended is closed
}

// parcel is in transit until due.
type parcel[T any] struct {
	content T
	last    bool // nothing follows
	due     time.Time
}

func newPipe(n *Network, silence time.Duration, from, to string) *pipe {
	p := &pipe{
		network:  n,
		silence:  silence,
		names:    [2]string{from, to},
		frames:   make(chan parcel[*linkpb.Frame], queueLength),
		answers:  make(chan parcel[*linkpb.Answer], answersAhead),
		accepted: make(chan struct{}),
	}
	for i := range p.sides {
		p.sides[i].ended = make(chan struct{})
	}
	return p
}

// end ends the stream at one end, with the reason that the other end learns: now, or, if that
// direction is cut, when the other end has received nothing for too long. What is in transit is
// lost.
func (p *pipe) end(by end, reason error) {
	p.sides[by].end(&loss{Closed, io.ErrClosedPipe})
	if p.isCut(by) {
		time.AfterFunc(p.silence, func() {
			p.sides[by.other()].end(&loss{Unreachable, errors.New("silence")})
		})
		return
	}
	p.sides[by.other()].end(reason)
}

// finish ends the stream in order at the server's end: the client reads what is in transit, then
// the end. It returns false if that is not possible.
func (p *pipe) finish(ctx context.Context) bool {
	if p.isCut(server) || !post(ctx, p, server, p.answers, parcel[*linkpb.Answer]{last: true}) {
		return false
	}
	p.sides[server].end(&loss{Closed, io.ErrClosedPipe})
	return true
}

// isCut reports whether everything that an end sends is lost.
func (p *pipe) isCut(by end) bool { return p.network.isCut(p.names[by], p.names[by.other()]) }

// end keeps the first reason.
func (s *side) end(reason error) {
	s.once.Do(func() {
		s.reason = reason
		close(s.ended)
		s.unplug()
	})
}

// over returns why nothing more arrives.
func (s *side) over() error {
	if isClosed(s.ended) && s.reason != nil {
		return s.reason
	}
	return io.EOF
}

// clientEnd is the end that opened the stream. It is of no use once ctx has ended.
type clientEnd struct {
	*pipe
	ctx context.Context
}

func (c clientEnd) Send(f *linkpb.Frame) error {
	if !post(c.ctx, c.pipe, client, c.frames, parcel[*linkpb.Frame]{content: f}) {
		return io.EOF
	}
	return nil
}

func (c clientEnd) CloseSend() error {
	if !post(c.ctx, c.pipe, client, c.frames, parcel[*linkpb.Frame]{last: true}) {
		return io.EOF
	}
	return nil
}

func (c clientEnd) Accepted() error {
	select {
	case <-c.accepted:
		return nil
	case <-c.sides[client].ended:
		return c.sides[client].over()
	case <-c.ctx.Done():
		return c.ctx.Err()
	}
}

func (c clientEnd) Recv() (*linkpb.Answer, error) {
	answer, ok := collect(c.ctx, &c.sides[client], c.answers)
	if !ok {
		return nil, c.sides[client].over()
	}
	return answer, nil
}

func (c clientEnd) Certified() (own, peer validity) {
	return c.certified[client], c.certified[server]
}

func (c clientEnd) Close() { c.end(client, &loss{Closed, io.ErrClosedPipe}) }

// serverEnd is the end that serves the stream.
type serverEnd struct{ *pipe }

func (s serverEnd) Recv() (*linkpb.Frame, error) {
	frame, ok := collect(context.Background(), &s.sides[server], s.frames)
	if !ok {
		return nil, s.sides[server].over()
	}
	return frame, nil
}

func (s serverEnd) Send(a *linkpb.Answer) error {
	if !post(context.Background(), s.pipe, server, s.answers, parcel[*linkpb.Answer]{content: a}) {
		return s.sides[server].over()
	}
	return nil
}

func (s serverEnd) Accept() error {
	s.accept.Do(func() { close(s.accepted) })
	return nil
}

// post blocks while too much is in transit. It returns false if the stream has ended.
func post[T any](ctx context.Context, p *pipe, by end, c chan<- parcel[T], what parcel[T]) bool {
	ended := p.sides[by].ended
	if isClosed(ended) || ctx.Err() != nil {
		return false
	}
	if p.isCut(by) {
		return true
	}
	what.due = time.Now().Add(p.network.delay(p.names[by], p.names[by.other()]))
	select {
	case c <- what:
		return true
	case <-ended:
	case <-ctx.Done():
	}
	return false
}

// collect waits for the next parcel to arrive. It returns false if none will.
func collect[T any](ctx context.Context, s *side, c <-chan parcel[T]) (content T, ok bool) {
	var next parcel[T]
	select {
	case next = <-c:
	case <-s.ended:
		return content, false
	case <-ctx.Done():
		return content, false
	}
	if wait := time.Until(next.due); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-s.ended:
			return content, false
		case <-ctx.Done():
			return content, false
		}
	}
	return next.content, !next.last
}
