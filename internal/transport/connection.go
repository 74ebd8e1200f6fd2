package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/delimited"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// lastWord is how long a peer may take to read why its stream ends.
const lastWord = time.Second

// connection is a TLS connection with another process, whichever of the two has opened it. It
// carries at most one stream of each: frames go one way, and what the receiver says to them the
// other.
//
// One goroutine reads, and waits until what it has read is taken. So while a process does not take
// what others ask of it, it does not get their answers either.
type connection struct {
	raw        net.Conn
	secured    *tls.Conn
	messages   *delimited.Stream // on secured
	dialled    bool              // by this process
	peer       Member            // by its certificate; without an address
	own, their validity          // of the certificates of both ends
	wire       *tlsWire

	broken chan struct{} // closed when nothing more is received
	why    error         // valid once broken is closed

	mu     sync.Mutex
	out    *outgoing // this process's stream, until it has ended
	in     *incoming // the peer's stream, until it has ended
	shares bool      // the peer takes a stream of this process here
	spent  bool      // this process has given up a stream here, and opens none any more
	told   bool      // the peer was told why a stream of it has ended
	// it is closed when the peer has had the time to read that, whatever it carries until then
	closing bool
}

func newConnection(w *tlsWire, raw net.Conn, secured *tls.Conn, dialled bool) *connection {
	limit := maxFrame
	if dialled {
		limit = maxReply
	}
	return &connection{
		raw:      raw,
		secured:  secured,
		messages: delimited.New(secured, limit),
		dialled:  dialled,
		wire:     w,
		broken:   make(chan struct{}),
	}
}

// read hands over what arrives until the connection breaks. Then it closes it.
func (c *connection) read() {
	c.why = c.receive()
	close(c.broken)
	if errors.Is(c.why, delimited.ErrInvalid) {
		c.expire()
		_, _ = io.Copy(io.Discard, c.raw) // the peer may not have read yet what it is told of that
	}
	c.raw.Close()
	c.wire.drop(c)
}

func (c *connection) receive() error {
	for {
		frame, reply, err := c.next()
		switch {
		case err != nil:
			return err
		case frame != nil:
			c.take(frame)
		default:
			c.hear(reply)
		}
	}
}

// next returns what comes next: a frame of the peer's stream, or a reply on this process's stream.
func (c *connection) next() (*linkpb.Frame, *linkpb.Reply, error) {
	if c.dialled {
		reply := new(linkpb.Reply)
		err := c.messages.Receive(reply)
		return reply.GetFrame(), reply, err
	}
	frame := new(linkpb.Frame)
	if err := c.messages.Receive(frame); err != nil {
		return nil, nil, err
	}
	if reply := frame.GetReply(); reply != nil {
		return nil, reply, nil
	}
	return frame, nil, nil
}

// frame sends a frame on this process's stream.
func (c *connection) frame(f *linkpb.Frame) error {
	if c.dialled {
		return c.sent(c.messages.Send(f))
	}
	return c.sent(c.messages.Send(&linkpb.Reply{Reply: &linkpb.Reply_Frame{Frame: f}}))
}

// reply sends a reply on the peer's stream.
func (c *connection) reply(r *linkpb.Reply) error {
	if c.dialled {
		return c.sent(c.messages.Send(&linkpb.Frame{Frame: &linkpb.Frame_Reply{Reply: r}}))
	}
	return c.sent(c.messages.Send(r))
}

// sent has a connection end on which sending has failed: soon, with what the peer has said before,
// if it has said something.
func (c *connection) sent(err error) error {
	if err != nil {
		c.expire()
	}
	return err
}

// open begins a stream of this process, which ends with ctx. It returns nil if the connection
// carries one, or is of no use for one any more, or the peer takes none.
func (c *connection) open(ctx context.Context) *outgoing {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken, over := c.dialled || c.shares, c.closing || c.own.within(c.their).over()
	if c.out != nil || c.spent || over || !taken || isClosed(c.broken) {
		return nil
	}
	c.out = newOutgoing(ctx, c)
	return c.out
}

// hear hands over a reply on this process's stream.
func (c *connection) hear(reply *linkpb.Reply) {
	c.mu.Lock()
	out := c.out
	if out != nil && reply.GetEnded() != nil {
		c.out = nil
		c.settle()
	}
	c.mu.Unlock()
	if out != nil {
		out.hear(reply)
	}
}

// giveUp ends a stream of this process that the peer has not ended. The peer's stream goes on,
// unless the connection takes nothing more.
func (c *connection) giveUp(out *outgoing) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out != out {
		return
	}
	c.out, c.spent = nil, out.begun.Load()
	if c.in == nil || !c.spent {
		c.settle()
		return
	}
	c.wire.hub.start(func() {
		stuck := time.AfterFunc(lastWord, func() { c.raw.Close() })
		defer stuck.Stop()
		c.frame(endFrame()) //nolint:errcheck // it is broken then
	})
}

// take hands over a frame of the peer's stream. A Hello begins one. Anything else that comes while
// there is none belongs to the last one: it was sent before the peer knew that it has ended.
func (c *connection) take(frame *linkpb.Frame) {
	hello := frame.GetHello()
	c.mu.Lock()
	c.shares = c.shares || hello.GetShares()
	in, begins := c.in, c.in == nil && hello != nil && !c.closing
	if begins {
		in = newIncoming(c)
		c.in = in
	}
	c.mu.Unlock()
	if begins && !c.wire.hub.start(in.serve) {
		return // this process ends, and closes the connection
	}
	if in != nil {
		in.take(frame)
	}
}

// end tells the peer why its stream has ended, nil if in order.
func (c *connection) end(reason error) {
	refused, isRefusal := errors.AsType[*refusal](reason)
	if reason != nil && !isRefusal {
		c.raw.Close() // it is broken
		return
	}
	ended := &linkpb.Ended{}
	if isRefusal {
		ended.Reason, ended.Text = reasonOf[refused.kind], refused.reason
	}
	c.mu.Lock()
	c.in, c.told = nil, true
	c.settle()
	c.mu.Unlock()
	if isRefusal && refused.kind == malformed {
		c.expire()
	}
	//nolint:errcheck // it is broken then
	c.reply(&linkpb.Reply{Reply: &linkpb.Reply_Ended{Ended: ended}})
}

// settle closes a connection that carries no stream any more: at once, or when the peer has had the
// time to read why its stream has ended. (A kernel that closes a connection on which something is
// unread may take back what it has not delivered yet.) The mutex must be held.
func (c *connection) settle() {
	switch {
	case c.in != nil || c.out != nil:
	case c.told:
		c.close()
	default:
		c.raw.Close()
	}
}

// expire closes the connection, when the peer has had the time to read why, whatever it carries.
func (c *connection) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.close()
}

func (c *connection) close() {
	if !c.closing {
		c.closing = true
		//nolint:errcheck // a connection that takes no deadline has ended
		c.raw.SetDeadline(time.Now().Add(lastWord))
	}
}
