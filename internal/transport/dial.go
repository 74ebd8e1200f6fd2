package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/podesta-dev/podesta/internal/delimited"
	"github.com/podesta-dev/podesta/internal/rawconn"
)

// dial connects to a process, shakes hands, and waits for its Welcome: in TLS 1.3 the client's part
// of the handshake ends before the server has checked its certificate. Every failure is a loss with
// its evidence. The certificate must be the member's, which config checks.
func (w *tlsWire) dial(ctx context.Context, to Member, config *tls.Config) (*connection, error) {
	patience := w.hub.patience()
	dialer := net.Dialer{
		Timeout:         patience,
		KeepAliveConfig: keepAlive(patience),
		Control:         control(patience),
	}
	tcp, err := dialer.DialContext(ctx, "tcp", to.Address)
	if err != nil {
		return nil, &loss{whyNetwork(err, Unreachable), err}
	}
	limitBuffers(tcp)
	raw := rawconn.New(tcp)
	defer context.AfterFunc(ctx, func() { raw.Close() })()
	own := noteShown(config)
	c := newConnection(w, raw, tls.Client(raw, config), true)
	if err = c.secured.HandshakeContext(ctx); err == nil {
		err = c.welcomed()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		raw.Close()
		if ctx.Err() != nil {
			return nil, &loss{Unreachable, errors.Join(ctx.Err(), err)}
		}
		return nil, lost(unexpected(err))
	}
	c.peer = Member{Name: to.Name, UID: to.UID}
	c.own, c.their = *own, validityOf(c.secured.ConnectionState().PeerCertificates[0])
	return c, nil
}

// welcomed waits for the Welcome.
func (c *connection) welcomed() error {
	for {
		_, reply, err := c.next()
		switch {
		case err != nil:
			return err
		case reply.GetEnded() != nil:
			return lossOf(reply.GetEnded())
		case reply.GetWelcome() != nil:
			return nil
		case reply.GetReply() != nil:
			return fmt.Errorf("%w: the first one is no Welcome", delimited.ErrInvalid)
		}
	}
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
