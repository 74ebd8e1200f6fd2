package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"syscall"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/pathmtu"
)

func (w *tlsWire) dial(ctx context.Context, to Member) (*connection, error) {
	return w.connect(ctx, to.Address, w.keyring.PeerClient(identity.Name{
		Namespace: w.self.Namespace,
		Group:     w.self.Group,
		Pod:       to.Name,
		UID:       to.UID,
	}))
}

// connect connects to an address, shakes hands, and waits until the peer has accepted the
// certificate: in TLS 1.3 the client's part of the handshake ends before that. Every failure is a
// loss with its evidence.
func (w *tlsWire) connect(ctx context.Context, address string, config *tls.Config) (*connection,
	error) {
	patience := w.hub.patience()
	dialer := net.Dialer{
		Timeout:         patience,
		KeepAliveConfig: keepAlive(patience),
		Control: func(network, address string, c syscall.RawConn) error {
			return errors.Join(control(patience)(network, address, c),
				pathmtu.Control(network, address, c))
		},
	}
	tcp, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, &loss{evidence: whyNetwork(err, Unreachable), cause: err}
	}
	limitBuffers(tcp)
	own := noteShown(config)
	secured := tls.Client(tcp, config)
	c := newConnection(ctx, tcp, secured, maxReply)
	if err = secured.HandshakeContext(ctx); err == nil {
		err = c.accepted()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		c.Close()
		if ctx.Err() != nil {
			return nil, &loss{
				evidence:  Unreachable,
				cause:     errors.Join(ctx.Err(), err),
				connected: true,
			}
		}
		err = lost(unexpected(err))
		if l, ok := errors.AsType[*loss](err); ok {
			l.connected = true
		}
		return nil, err
	}
	c.own, c.peer = *own, validityOf(secured.ConnectionState().PeerCertificates[0])
	return c, nil
}

// noteShown makes config record the validity of the certificate that a handshake shows. Afterwards
// the keyring may hold another certificate.
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
