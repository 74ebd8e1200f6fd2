package transport

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"

	"github.com/podesta-dev/podesta/internal/delimited"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// outgoing is this process's stream on a connection.
type outgoing struct {
	connection *connection
	replies    chan *linkpb.Reply
	begun      atomic.Bool // something was sent on it, perhaps
	once       sync.Once
	over       chan struct{} // closed when nothing more is received on it
	leave      func() bool   // the stream no longer ends with its context
	// what Recv returned at the end of the stream; of one goroutine
	ended error
}

// newOutgoing returns a stream that ends with ctx.
func newOutgoing(ctx context.Context, c *connection) *outgoing {
	o := &outgoing{
		connection: c,
		replies:    make(chan *linkpb.Reply),
		over:       make(chan struct{}),
	}
	o.leave = context.AfterFunc(ctx, o.end)
	return o
}

func (o *outgoing) Certified() (own, peer validity) {
	return o.connection.own, o.connection.their
}

func (o *outgoing) Accepted() error {
	reply, err := o.next()
	if err == nil && reply.GetAccepted() == nil {
		err = fmt.Errorf("%w: the first one on a stream is no Accepted", delimited.ErrInvalid)
	}
	return lost(err)
}

func (o *outgoing) Recv() (*linkpb.Answer, error) {
	for {
		reply, err := o.next()
		if err != nil {
			return nil, lost(err)
		}
		if answer := reply.GetAnswer(); answer != nil {
			return answer, nil
		}
	}
}

// next returns the next reply, or the end of the stream as the peer or the network tells it. It
// skips what it does not know, which a newer process may send.
func (o *outgoing) next() (*linkpb.Reply, error) {
	for o.ended == nil {
		select {
		case reply := <-o.replies:
			if ended := reply.GetEnded(); ended != nil {
				o.ended = lossOf(ended)
			} else if reply.GetReply() != nil {
				return reply, nil
			}
		case <-o.over:
			o.ended = net.ErrClosed
		case <-o.connection.broken:
			o.ended = unexpected(o.connection.why)
		}
	}
	return nil, o.ended
}

// hear waits until the reply is received, or will not be.
func (o *outgoing) hear(reply *linkpb.Reply) {
	select {
	case o.replies <- reply:
	case <-o.over:
	}
}

// Send fails with io.EOF, because Recv tells why.
func (o *outgoing) Send(f *linkpb.Frame) error {
	o.begun.Store(true)
	if isClosed(o.over) || o.connection.frame(f) != nil {
		return io.EOF
	}
	return nil
}

func (o *outgoing) CloseSend() error { return o.Send(endFrame()) }

// Close ends the stream at once.
func (o *outgoing) Close() {
	o.leave()
	o.end()
}

func (o *outgoing) end() {
	o.once.Do(func() {
		close(o.over)
		o.connection.giveUp(o)
	})
}
