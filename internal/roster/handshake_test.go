package roster

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/test/bubble"
)

// Two handshakes have one turn: while one computes, the other one's bytes are not looked at.
func TestHandshakesTakeTurns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		turns := make(chan struct{}, 1)
		cancelled := make(chan struct{})
		open := func() (*handshake, net.Conn) {
			near, far := net.Pipe()
			t.Cleanup(func() { near.Close(); far.Close() })
			return &handshake{
				Conn:      near,
				turns:     turns,
				cancelled: cancelled,
			}, far
		}
		read := func(h *handshake) <-chan error {
			done := make(chan error, 1)
			go func() {
				_, err := h.Read(make([]byte, 1))
				done <- err
			}()
			synctest.Wait()
			return done
		}
		say := func(end net.Conn) {
			_, err := end.Write([]byte("x"))
			must(t, err)
			synctest.Wait()
		}
		first, ofFirst := open()
		second, ofSecond := open()
		one := read(first)
		say(ofFirst)
		must(t, <-one)
		two := read(second)
		say(ofSecond)
		if len(two) != 0 {
			t.Fatal("the second one computes beside the first one")
		}
		one = read(first) // its peer says nothing
		must(t, <-two)
		say(ofFirst)
		if len(one) != 0 {
			t.Fatal("the first one computes beside the second one")
		}
		close(cancelled)
		if err := <-one; !errors.Is(err, net.ErrClosed) {
			t.Errorf("one that is cancelled while it waits: %v", err)
		}
		first.end()
		second.end()
		if len(turns) != 0 {
			t.Error("a turn is kept")
		}
		two = read(second)
		say(ofSecond)
		must(t, <-two)
		if len(turns) != 0 {
			t.Error("a connection takes a turn after its handshake")
		}
	})
}

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
	for range 2 * cap(m.shaking) {
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
	for range cap(m.shaking) {
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
