package transport

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/podesta-dev/podesta/internal/delimited"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// dialled is this process's end of a connection that it opened.
type dialled struct {
	raw       net.Conn
	conn      *tls.Conn
	messages  *delimited.Stream
	own, peer validity    // of the certificates of both ends
	leave     func() bool // the connection no longer ends with the context
}

func newDialled(raw net.Conn, conn *tls.Conn) *dialled {
	return &dialled{
		raw:      raw,
		conn:     conn,
		messages: delimited.New(conn, maxReply),
	}
}

func (d *dialled) Certified() (own, peer validity) { return d.own, d.peer }

func (d *dialled) welcomed() error {
	reply, err := d.next()
	if err == nil && reply.GetWelcome() == nil {
		err = fmt.Errorf("%w: the first one is no Welcome", delimited.ErrInvalid)
	}
	return err
}

func (d *dialled) Accepted() error {
	reply, err := d.next()
	if err == nil && reply.GetAccepted() == nil {
		err = fmt.Errorf("%w: the second one is no Accepted", delimited.ErrInvalid)
	}
	return lost(err)
}

func (d *dialled) Recv() (*linkpb.Answer, error) {
	for {
		reply, err := d.next()
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
func (d *dialled) next() (*linkpb.Reply, error) {
	for {
		reply := new(linkpb.Reply)
		if err := d.messages.Receive(reply); err != nil {
			return nil, unexpected(err)
		}
		if ended := reply.GetEnded(); ended != nil {
			return nil, lossOf(ended)
		}
		if reply.GetReply() != nil {
			return reply, nil
		}
	}
}

// unexpected keeps a connection that ends without an Ended apart from an end in order.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// lost adds the evidence to an error of the network, or of the protocol.
func lost(err error) error {
	if err == nil || errors.Is(err, io.EOF) || errors.As(err, new(*loss)) {
		return err
	}
	return &loss{whyNetwork(err, Rejected), err}
}

// Send fails with io.EOF, because Recv tells why. It does so soon: with what the peer has said
// before, if it has said something.
func (d *dialled) Send(f *linkpb.Frame) error {
	if err := d.messages.Send(f); err != nil {
		//nolint:errcheck // a connection that takes no deadline has ended
		d.raw.SetReadDeadline(time.Now().Add(lastWord))
		return io.EOF
	}
	return nil
}

func (d *dialled) CloseSend() error { return d.Send(endFrame()) }

// Close ends the connection at once.
func (d *dialled) Close() {
	d.leave()
	d.raw.Close()
}
