package roster

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/delimited"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// caller is a connection to a manager on which the test decides what is sent.
type caller struct {
	*connection
	failed error // the handshake
}

// dial connects like an agent that presents this certificate in any case (a well-behaved agent does
// not present an expired one); nil: none.
func (m *manager) dial(t *testing.T, key, cert []byte) *caller {
	t.Helper()
	keyring := identity.NewKeyring(time.Now)
	must(t, keyring.SetTrust(m.bundle))
	config := keyring.RosterClient()
	if cert != nil {
		own, err := tls.X509KeyPair(cert, key)
		must(t, err)
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &own, nil
		}
	}
	return m.call(t, new(net.Dialer), config)
}

// dialFrom connects without a certificate, from an address of its own.
func (m *manager) dialFrom(t *testing.T, dialer net.Dialer) *caller {
	t.Helper()
	keyring := identity.NewKeyring(time.Now)
	must(t, keyring.SetTrust(m.bundle))
	return m.call(t, &dialer, keyring.RosterClient())
}

func (m *manager) call(t *testing.T, by *net.Dialer, config *tls.Config) *caller {
	t.Helper()
	raw, err := by.DialContext(t.Context(), "tcp", m.address)
	must(t, err)
	return shake(t, raw, config)
}

func shake(t *testing.T, raw net.Conn, config *tls.Config) *caller {
	t.Helper()
	secured := tls.Client(raw, config)
	c := &caller{connection: &connection{
		raw:      raw,
		messages: delimited.New(secured, maxUpdateSize),
		leave:    func() bool { return true },
	}}
	t.Cleanup(c.close)
	c.failed = secured.HandshakeContext(t.Context())
	return c
}

// ask sends a Join and returns the answer.
func (c *caller) ask(ctx context.Context, token string, csr []byte) (*rosterpb.JoinResponse, error) {
	if c.failed != nil {
		return nil, c.failed
	}
	granted, err := c.join(ctx, &rosterpb.JoinRequest{Token: token, Csr: csr})
	if err == nil {
		err = refusalError(granted.GetRefused())
	}
	return granted, err
}

// begin sends a Follow and waits for the first update.
func (c *caller) begin() error {
	if c.failed != nil {
		return c.failed
	}
	if err := c.send(&rosterpb.ToManager{Message: &rosterpb.ToManager_Follow{}}); err != nil {
		return err
	}
	_, err := c.receive(patience)
	return err
}

func (c *caller) report(t *testing.T, r *rosterpb.Report) {
	t.Helper()
	must(t, c.send(&rosterpb.ToManager{Message: &rosterpb.ToManager_Report{Report: r}}))
}

// follow opens a subscription and waits until the server has started it.
func (m *manager) follow(t *testing.T, key, cert []byte) *caller {
	t.Helper()
	c := m.dial(t, key, cert)
	must(t, c.begin())
	return c
}

// drain receives until the connection ends, and returns why.
func (c *caller) drain() error {
	for {
		if _, err := c.receive(patience); err != nil {
			return err
		}
	}
}
