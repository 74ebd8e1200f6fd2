package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// dial connects to an address and shakes hands. Every failure is a loss with its evidence, which is
// why dial does this and not gRPC. In TLS 1.3 the client's part of the handshake ends before the
// server has checked its certificate, so dial also waits for the first bytes of the server, which
// an HTTP/2 server sends unasked.
func dial(ctx context.Context, address string, config *tls.Config,
	patience time.Duration) (*watchedConn, error) {
	dialer := net.Dialer{
		Timeout:         patience,
		KeepAliveConfig: keepAlive(patience),
		Control:         control(patience),
	}
	raw, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, &loss{whyNetwork(err, Unreachable), err}
	}
	interrupt := context.AfterFunc(ctx, func() {
		_ = raw.SetDeadline(time.Unix(1, 0)) // a connection that accepts no deadline has ended
	})
	own := noteShown(config)
	conn := tls.Client(raw, config)
	first := make([]byte, 512)
	n := 0
	if err = conn.HandshakeContext(ctx); err == nil {
		n, err = conn.Read(first)
	}
	if !interrupt() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		raw.Close()
		return nil, &loss{whyNetwork(err, Rejected), err}
	}
	state := conn.ConnectionState()
	return &watchedConn{
		Conn:  conn,
		state: state,
		own:   *own,
		peer:  validityOf(state.PeerCertificates[0]),
		head:  first[:n],
	}, nil
}

// noteShown makes config record the validity of the certificate that is shown in a handshake. The
// keyring may hold another certificate by then.
func noteShown(config *tls.Config) *validity {
	shown, choose := new(validity), config.GetClientCertificate
	config.GetClientCertificate = func(request *tls.CertificateRequestInfo) (*tls.Certificate,
		error) {
		certificate, err := choose(request)
		if err == nil && certificate.Leaf != nil {
			*shown = validityOf(certificate.Leaf)
		}
		return certificate, err
	}
	return shown
}

// whyNetwork returns the evidence of a network error, or otherwise for any other error.
func whyNetwork(err error, otherwise Evidence) Evidence {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case isAny(err, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET,
		syscall.ECONNABORTED, syscall.EPIPE):
		return Closed
	case isAny(err, syscall.EHOSTUNREACH, syscall.ENETUNREACH, context.Canceled), errors.As(err,
		&timeout) && timeout.Timeout():
		return Unreachable
	default:
		return otherwise
	}
}

func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// watchedConn remembers how the connection ended. gRPC reports all ends as the same kind of error.
type watchedConn struct {
	net.Conn
	state tls.ConnectionState
	own   validity // of the certificates of both ends
	peer  validity
	head  []byte // bytes that were already read; used by the one reader only

	mu    sync.Mutex
	ended error // the first error, or nil
}

func (c *watchedConn) Read(b []byte) (int, error) {
	if len(c.head) > 0 {
		n := copy(b, c.head)
		if c.head = c.head[n:]; len(c.head) == 0 {
			c.head = nil
		}
		return n, nil
	}
	n, err := c.Conn.Read(b)
	c.note(err)
	return n, err
}

func (c *watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.note(err)
	return n, err
}

func (c *watchedConn) note(err error) {
	if err == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.ended = err
	}
}

// explain returns the evidence for the end of a stream on this connection: the end of the
// connection, if it has ended, or else what the peer reported.
func (c *watchedConn) explain(err error) error {
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended == nil {
		return fromStatus(err)
	}
	return &loss{whyNetwork(ended, Rejected), errors.Join(err, ended)}
}
