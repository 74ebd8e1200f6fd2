package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"time"
)

// dial connects to an address, shakes hands, and waits for the peer's Welcome: in TLS 1.3 the
// client's part of the handshake ends before the server has checked its certificate. Every failure
// is a loss with its evidence. The connection ends with ctx.
func dial(ctx context.Context, address string, config *tls.Config,
	patience time.Duration) (*dialled, error) {
	dialer := net.Dialer{
		Timeout:         patience,
		KeepAliveConfig: keepAlive(patience),
		Control:         control(patience),
	}
	raw, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, &loss{whyNetwork(err, Unreachable), err}
	}
	limitBuffers(raw)
	own := noteShown(config)
	d := newDialled(raw, tls.Client(raw, config))
	d.leave = context.AfterFunc(ctx, func() { raw.Close() })
	if err = d.conn.HandshakeContext(ctx); err == nil {
		err = d.welcomed()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		d.Close()
		if ctx.Err() != nil {
			return nil, &loss{Unreachable, errors.Join(ctx.Err(), err)}
		}
		return nil, lost(unexpected(err))
	}
	d.own, d.peer = *own, validityOf(d.conn.ConnectionState().PeerCertificates[0])
	return d, nil
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
