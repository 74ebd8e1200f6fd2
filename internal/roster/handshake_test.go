package roster

import (
	"crypto/tls"
	"io"
	"net"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
)

// stalled is more handshakes than a server computes at once.
const stalled = 8

// muted is a connection of which nothing is read until it is closed.
type muted struct {
	net.Conn
	closed chan struct{}
}

func (d muted) Read([]byte) (int, error) {
	<-d.closed
	return 0, net.ErrClosed
}

// Strangers that stop in the midst of their handshakes hold up nobody.
func TestAStrangerThatStallsHoldsUpNobody(t *testing.T) {
	m := newManager(t)
	keyring := identity.NewKeyring(time.Now)
	must(t, keyring.SetTrust(m.bundle))
	over := make(chan struct{})
	defer close(over)
	for range stalled {
		conn, err := net.Dial("tcp", m.address)
		must(t, err)
		defer conn.Close()
		go func() { _ = tls.Client(muted{conn, over}, keyring.RosterClient()).Handshake() }()
		// the manager answers the hello and waits, and does not wait for others to be sent away
		must(t, conn.SetReadDeadline(time.Now().Add(handshakeWithin/2)))
		_, err = conn.Read(make([]byte, 1))
		must(t, err)
	}
	must(t, m.dial(t, nil, nil).failed)
}

// Strangers whose handshakes fail give back their turns.
func TestAStrangerThatSpeaksNoTLSHoldsUpNobody(t *testing.T) {
	m := newManager(t)
	for range stalled {
		conn, err := net.Dial("tcp", m.address)
		must(t, err)
		defer conn.Close()
		_, err = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n"))
		must(t, err)
		must(t, conn.SetReadDeadline(time.Now().Add(handshakeWithin/2)))
		_, err = io.Copy(io.Discard, conn) // until it is sent away
		must(t, err)
	}
	must(t, m.dial(t, nil, nil).failed)
}
