package transport

import (
	"errors"
	"io"
	"net"

	"github.com/podesta-dev/podesta/internal/delimited"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// incoming is the peer's stream on a connection.
type incoming struct {
	connection *connection
	frames     chan *linkpb.Frame
	last       chan struct{} // closed when the peer has sent its End
	over       chan struct{} // closed when nothing more is received on it
}

func newIncoming(c *connection) *incoming {
	return &incoming{
		connection: c,
		frames:     make(chan *linkpb.Frame),
		last:       make(chan struct{}),
		over:       make(chan struct{}),
	}
}

// serve serves the stream until it ends, and tells the peer.
func (i *incoming) serve() {
	c := i.connection
	reason := c.wire.hub.serve(c.peer.Name, c.peer.UID, c.their, i)
	close(i.over)
	c.end(reason)
}

// take waits until the frame is received, or will not be. An End is not waited for: nothing is
// received from a stream that waits until the one before it has ended, and it may be given up then.
func (i *incoming) take(frame *linkpb.Frame) {
	switch {
	case isClosed(i.last): // nothing follows an End
	case frame.GetEnd() != nil:
		close(i.last)
	default:
		select {
		case i.frames <- frame:
		case <-i.over:
		}
	}
}

// Recv takes nothing but an End for the end: whoever is between the two could forge that of the
// connection.
func (i *incoming) Recv() (*linkpb.Frame, error) {
	select {
	case frame := <-i.frames:
		return frame, nil
	case <-i.last:
		return nil, io.EOF
	case <-i.over:
		return nil, net.ErrClosed
	case <-i.connection.broken:
		why := i.connection.why
		if errors.Is(why, delimited.ErrInvalid) {
			return nil, refuse(malformed, "%v", why)
		}
		return nil, unexpected(why)
	}
}

func (i *incoming) Send(answer *linkpb.Answer) error {
	return i.connection.reply(&linkpb.Reply{Reply: &linkpb.Reply_Answer{Answer: answer}})
}

// Accept also lets this process have its own stream on the connection, from then on.
func (i *incoming) Accept() error {
	i.connection.wire.offer(i.connection)
	return i.connection.reply(&linkpb.Reply{
		Reply: &linkpb.Reply_Accepted{Accepted: &linkpb.Accepted{}},
	})
}
