package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/podesta-dev/podesta/internal/delimited"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

const (
	// lastWord is how long a peer may take to read why its stream ends.
	lastWord = time.Second
	// more than the longest reply, which holds a roster
	maxReply = maxFrame + 64
)

// conn is what carries a stream: TCP below TLS, or the in-memory network.
type conn interface {
	io.ReadWriteCloser
	SetDeadline(t time.Time) error
	SetReadDeadline(t time.Time) error
}

// connection is one end of a stream. The process that opened it sends frames, the other one
// replies. One goroutine may receive, and any number may send.
type connection struct {
	conn
	messages  *delimited.Stream // on conn, or on TLS above it
	own, peer validity          // of the certificates of both ends
	leave     func() bool       // the connection no longer ends with its context
}

// newConnection returns a connection that ends with ctx, and takes messages of at most limit bytes.
func newConnection(ctx context.Context, c conn, messages io.ReadWriter, limit int) *connection {
	return &connection{
		conn:     c,
		messages: delimited.New(messages, limit),
		leave:    context.AfterFunc(ctx, func() { _ = c.Close() }),
	}
}

// Close ends the connection at once.
func (c *connection) Close() {
	c.leave()
	_ = c.conn.Close() // nobody is left to tell
}

// sendFrame blocks while the peer does not read. If it fails, receiveReply soon returns the reason:
// the peer's, if the peer has sent one.
func (c *connection) sendFrame(f *linkpb.Frame) error {
	err := c.messages.Send(f)
	if err != nil {
		//nolint:errcheck // a connection that takes no deadline has ended
		c.SetReadDeadline(time.Now().Add(lastWord))
	}
	return err
}

// receiveReply returns the next reply. At the end of the stream it returns io.EOF if the peer ended
// the stream in order, and otherwise a loss. It skips replies of kinds that it does not know: newer
// processes may send some.
func (c *connection) receiveReply() (*linkpb.Reply, error) {
	for {
		reply := new(linkpb.Reply)
		if err := c.messages.Receive(reply); err != nil {
			return nil, lost(unexpected(err))
		}
		if ended := reply.GetEnded(); ended != nil {
			return nil, lossOf(ended)
		}
		if reply.GetReply() != nil {
			return reply, nil
		}
	}
}

// accepted waits until the peer has accepted the certificate, or the Hello.
func (c *connection) accepted() error {
	_, err := c.welcome()
	return err
}

// welcome waits until the peer has accepted the Hello, and returns what it says of itself.
func (c *connection) welcome() (*linkpb.Accepted, error) {
	reply, err := c.receiveReply()
	if err == nil && reply.GetAccepted() == nil {
		err = rejected(fmt.Errorf("%w: it is no Accepted", delimited.ErrInvalid))
	}
	return reply.GetAccepted(), err
}

// receiveFrame returns the next frame, or io.EOF if the peer ended the stream in order. Only an End
// ends it in order: somebody between the two could forge the end of the connection.
func (c *connection) receiveFrame() (*linkpb.Frame, error) {
	frame := new(linkpb.Frame)
	err := c.messages.Receive(frame)
	switch {
	case errors.Is(err, delimited.ErrInvalid):
		return nil, refuse(malformed, "%v", err)
	case err != nil:
		return nil, unexpected(err)
	case frame.GetEnd() != nil:
		return nil, io.EOF
	}
	return frame, nil
}

func (c *connection) accept(file *RosterFile) error {
	return c.messages.Send(&linkpb.Reply{
		Reply: &linkpb.Reply_Accepted{Accepted: &linkpb.Accepted{RosterFile: file.message()}},
	})
}

// sayEnded tells the peer why its stream ends; a nil reason means in order. It waits until the peer
// has closed the connection: if this end closed it while something was unread, the kernel might
// never deliver the reason. The caller has set a deadline.
func (c *connection) sayEnded(reason *refusal) {
	ended := &linkpb.Ended{}
	if reason != nil {
		ended.Reason, ended.Text = reasonOf[reason.kind], reason.reason
		ended.Later, ended.LaterRuns = reason.later, reason.laterRuns
		ended.RosterFile = reason.file.message()
	}
	if c.messages.Send(&linkpb.Reply{Reply: &linkpb.Reply_Ended{Ended: ended}}) == nil {
		_, _ = io.Copy(io.Discard, c.conn)
	}
}
