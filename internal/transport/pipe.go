package transport

import (
	"errors"
	"io"
	"net"
	"time"
)

// pipeEnd is one end of a connection on the network: of a net.Pipe. What is written arrives after
// the network's delay, unless that direction is cut.
type pipeEnd struct {
	net.Conn
	network  *Network
	from, to string // it writes to the end of the process to
	silence  time.Duration
	peer     net.Conn
}

// newPipe returns the two ends of a connection. An end gives up after so long a silence.
func newPipe(n *Network, from, to string, silence time.Duration) (near, far *pipeEnd) {
	a, b := net.Pipe()
	near = &pipeEnd{
		Conn:    a,
		network: n,
		from:    from,
		to:      to,
		silence: silence,
		peer:    b,
	}
	far = &pipeEnd{
		Conn:    b,
		network: n,
		from:    to,
		to:      from,
		silence: silence,
		peer:    a,
	}
	return near, far
}

// isCut reports whether everything that this end sends is lost.
func (p *pipeEnd) isCut() bool { return p.network.isCut(p.from, p.to) }

// Write blocks until the other end has read it.
func (p *pipeEnd) Write(b []byte) (int, error) {
	<-time.After(p.network.delay(p.from, p.to))
	if p.isCut() {
		return len(b), nil
	}
	n, err := p.Conn.Write(b)
	return n, closed(err)
}

func (p *pipeEnd) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	return n, closed(err)
}

// closed returns the error that a connection of the kernel has.
func closed(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return net.ErrClosed
	}
	return err
}

// Close ends the connection: for the other end now, or, if that direction is cut, when it has
// received nothing for too long.
func (p *pipeEnd) Close() error {
	if !p.isCut() {
		return p.Conn.Close()
	}
	time.AfterFunc(p.silence, func() { p.peer.SetDeadline(past) }) //nolint:errcheck // it has ended
	return p.SetDeadline(past)
}
