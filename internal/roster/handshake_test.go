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

// Two handshakes have one turn of each kind: while one of a kind computes, the other one's bytes are
// not looked at. Who has begun does not wait behind who has yet to.
func TestHandshakesTakeTurns(t *testing.T) {
	for _, kind := range []struct {
		what  string
		begun bool
	}{{"both have yet to begin", false}, {"both have begun", true}} {
		t.Run(kind.what, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				q := newQueue(t)
				first, second := q.open(kind.begun), q.open(kind.begun)
				must(t, <-first.hears())
				two := second.hears()
				if len(two) != 0 {
					t.Fatal("the second one computes beside the first one")
				}
				if another := q.open(!kind.begun).hears(); len(another) != 1 {
					t.Fatal("one of the other kind waits for it")
				}
				first.waits() // its peer says nothing
				must(t, <-two)
				second.end()
				must(t, <-second.hears())
				if len(q.turns.hello)+len(q.turns.finish) != 1 {
					t.Error("a connection takes a turn after its handshake, or keeps that of the handshake")
				}
			})
		})
	}
}

// A handshake that is cancelled waits for no turn.
func TestAHandshakeThatIsCancelledWaitsForNoTurn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		q := newQueue(t)
		must(t, <-q.open(false).hears())
		late := q.open(false).hears()
		close(q.cancelled)
		if err := <-late; !errors.Is(err, net.ErrClosed) {
			t.Errorf("one that is cancelled while it waits: %v", err)
		}
	})
}

// queue is where handshakes wait for their turns.
type queue struct {
	t         *testing.T
	turns     turns
	cancelled chan struct{}
}

func newQueue(t *testing.T) *queue {
	return &queue{
		t:         t,
		turns:     newTurns(1),
		cancelled: make(chan struct{}),
	}
}

// shaker is a handshake, and its peer.
type shaker struct {
	t *testing.T
	*handshake
	peer net.Conn
}

func (q *queue) open(begun bool) shaker {
	near, far := net.Pipe()
	q.t.Cleanup(func() { near.Close(); far.Close() })
	return shaker{q.t, &handshake{
		Conn:      near,
		turns:     q.turns,
		cancelled: q.cancelled,
		begun:     begun,
	}, far}
}

// waits has it wait for its peer. The channel has something once it computes, or has failed.
func (s shaker) waits() <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := s.Read(make([]byte, 1))
		done <- err
	}()
	synctest.Wait()
	return done
}

// hears has its peer say something.
func (s shaker) hears() <-chan error {
	done := s.waits()
	_, err := s.peer.Write([]byte("x"))
	must(s.t, err)
	synctest.Wait()
	return done
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
	for range 2 * handshakesAtOnce {
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
	for range handshakesAtOnce {
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
