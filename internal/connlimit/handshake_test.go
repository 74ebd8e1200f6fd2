package connlimit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/test/bubble"
)

// Two handshakes have one turn of each kind: while one of a kind computes, the other one's bytes are
// not looked at. Who was answered does not wait behind who was not.
func TestHandshakesTakeTurns(t *testing.T) {
	for _, kind := range []struct {
		what     string
		answered bool
	}{{"neither was answered", false}, {"both were answered", true}} {
		t.Run(kind.what, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				q := newQueue(t)
				first, second := q.open(kind.answered), q.open(kind.answered)
				must(t, <-first.hears())
				two := second.hears()
				if len(two) != 0 {
					t.Fatal("the second one computes beside the first one")
				}
				if another := q.open(!kind.answered).hears(); len(another) != 1 {
					t.Fatal("one of the other kind waits for it")
				}
				first.waits() // its peer says nothing
				must(t, <-two)
				second.End()
				must(t, <-second.hears())
				if len(q.turns.unanswered.taken)+len(q.turns.answered.taken) != 1 {
					t.Error("a connection takes a turn after its handshake, or keeps that of the handshake")
				}
			})
		})
	}
}

// An agent's hello takes one of the turns of those that were not answered, though another one waits
// for that; what it says then takes the others.
func TestEachHalfOfAHandshakeHasItsTurn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		q := newQueue(t)
		h := q.open(false)
		authority, err := identity.NewAuthority(time.Now())
		must(t, err)
		bundle, _, err := authority.PEM()
		must(t, err)
		cert, key, err := authority.IssueManager(time.Now())
		must(t, err)
		manager, stranger := identity.NewKeyring(time.Now), identity.NewKeyring(time.Now)
		must(t, manager.SetCertificate(cert, key))
		must(t, manager.SetTrust(bundle))
		must(t, stranger.SetTrust(bundle))
		server := tls.Server(h, manager.RosterServer())
		client := tls.Client(h.peer, stranger.RosterClient())
		q.waitsFor(q.turns.unanswered, "stranger")
		q.waitsFor(q.turns.answered, "stranger")
		shaken, said := make(chan error, 1), make(chan error, 1)
		go func() { shaken <- server.Handshake() }()
		go func() {
			_, err := client.Write([]byte("x")) // after its handshake
			said <- err
		}()
		synctest.Wait()
		if h.answered {
			t.Fatal("its hello was computed out of turn")
		}
		another := q.waitsFor(q.turns.unanswered, "stranger")
		q.turns.unanswered.give()
		synctest.Wait()
		if !h.answered || len(another) != 1 {
			t.Fatal("its hello waits for another turn, or keeps its own")
		}
		if len(shaken) != 0 {
			t.Fatal("the rest was computed out of turn")
		}
		q.turns.answered.give()
		must(t, <-shaken)
		h.End()
		if len(q.turns.answered.taken) != 0 {
			t.Error("a turn is kept")
		}
		heard := make([]byte, 1)
		_, err = server.Read(heard)
		must(t, err)
		must(t, <-said)
		if string(heard) != "x" {
			t.Errorf("heard %q", heard)
		}
	})
}

// Hundreds of a few addresses wait for turns, and the server gets so little of the CPU that they
// would wait for longer than a handshake may last. One of another address waits for a few.
func TestAddressesComeByTurns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		q := newQueue(t)
		turns := q.turns.unanswered
		var flood []<-chan struct{}
		for i := range 400 {
			flood = append(flood, q.waitsFor(turns, fmt.Sprint("flood ", i%4)))
		}
		honest := q.waitsFor(turns, "honest")
		for given := 0; len(honest) == 0; given++ {
			if given > 4 {
				t.Fatalf("it has no turn after %d", given)
			}
			turns.give()
			synctest.Wait()
		}
		q.cancel()
		synctest.Wait()
		if n := len(turns.addresses); n != 0 {
			t.Errorf("%d addresses of which none waits are remembered", n)
		}
		if len(flood[0]) != 1 {
			t.Error("the first of all had no turn")
		}
	})
}

// What a peer says beside the end of its handshake is read after it.
func TestWhatWasReadAheadIsNotLost(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		h := newQueue(t).open(true)
		go func() {
			for _, text := range []string{"ab", "c"} {
				if _, err := h.peer.Write([]byte(text)); err != nil {
					return
				}
			}
		}()
		for _, want := range []string{"a", "b", "c"} {
			heard := make([]byte, 1)
			_, err := h.Read(heard)
			must(t, err)
			if string(heard) != want {
				t.Errorf("heard %q, want %q", heard, want)
			}
			if want == "a" {
				h.End()
			}
		}
		if h.ahead != nil {
			t.Error("a connection keeps what its handshake needed")
		}
	})
}

// A handshake that is cancelled waits for no turn.
func TestAHandshakeThatIsCancelledWaitsForNoTurn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		q := newQueue(t)
		must(t, <-q.open(false).hears())
		late := q.open(false).hears()
		q.cancel()
		if err := <-late; !errors.Is(err, net.ErrClosed) {
			t.Errorf("one that is cancelled while it waits: %v", err)
		}
	})
}

// queue is where handshakes wait for their turns.
type queue struct {
	t         *testing.T
	turns     Handshakes
	cancelled <-chan struct{}
	cancel    func()
}

func newQueue(t *testing.T) *queue {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return &queue{
		t:         t,
		turns:     newHandshakes(1),
		cancelled: ctx.Done(),
		cancel:    cancel,
	}
}

// waitsFor waits for a turn, and keeps it. The channel has something once it has it.
func (q *queue) waitsFor(turn *line, address string) <-chan struct{} {
	has := make(chan struct{}, 1)
	go func() {
		if turn.take(address, q.cancelled) {
			has <- struct{}{}
		}
	}()
	synctest.Wait()
	return has
}

// shaker is a handshake, and its peer.
type shaker struct {
	t *testing.T
	*Handshake
	peer net.Conn
}

func (q *queue) open(answered bool) shaker {
	near, far := net.Pipe()
	q.t.Cleanup(func() { near.Close(); far.Close() })
	h := q.turns.Begin(near, q.cancelled)
	h.answered = answered
	return shaker{q.t, h, far}
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
