package transport

import (
	"errors"
	"io"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// connections returns how many connections a process has.
func connections(links Links) int {
	w := links.(*hub).wire.(*tlsWire)
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.all)
}

// hubOf returns the hub of the process that has opened a stream.
func hubOf(out outbound) *hub { return out.(*outgoing).connection.wire.hub }

func expectConnections(t *testing.T, want int, all ...Links) {
	t.Helper()
	for _, links := range all {
		if n := connections(links); n != want {
			t.Errorf("%s has %d connections, want %d", links.(*hub).self, n, want)
		}
	}
}

// TestTwoStreamsShareAConnection: of two processes that link to each other the first one connects,
// and each may stop and begin again without the other one noticing.
func TestTwoStreamsShareAConnection(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := newLoopback(t)
	defer f.end()
	a, b := f.join("a", 1), f.join("b", 2)
	a.Pace(time.Minute) // the machine may be slow
	b.Pace(time.Minute)
	introduce(f, []string{"a", "b"}, a, b)
	expect(t, a, Up{"b"})
	b.Link([]string{"a"})
	expect(t, b, Up{"a"})
	expectConnections(t, 1, a, b)
	converse(t, a, b, "a", 1, "b", 2, 0)
	converse(t, b, a, "b", 2, "a", 1, 0)

	for _, one := range []struct {
		links, other Links
		name, peer   string
		number, of   uint64
	}{{a, b, "a", "b", 1, 2}, {b, a, "b", "a", 2, 1}} {
		one.links.Link(nil)
		expect(t, one.links, Down{one.peer, Dropped})
		converse(t, one.other, one.links, one.peer, one.of, one.name, one.number, 3)
		one.links.Link([]string{one.peer})
		expect(t, one.links, Up{one.peer})
		expectConnections(t, 1, a, b)
		converse(t, one.links, one.other, one.name, one.number, one.peer, one.of, 6)
	}

	a.Link(nil)
	b.Link(nil)
	expect(t, a, Down{"b", Dropped})
	expect(t, b, Down{"a", Dropped})
	for late := time.After(5 * lastWord); connections(a)+connections(b) > 0; {
		select {
		case <-time.After(time.Millisecond):
		case <-late:
			t.Fatal("a connection that nobody needs is still open")
		}
	}
}

// TestAProcessThatSharesNothingIsConnectedTo: b has a stream to a, and nobody listens at b's
// address. So a, if it does not use b's connection, finds that the connection is refused.
func TestAProcessThatSharesNothingIsConnectedTo(t *testing.T) {
	for what, prepare := range map[string]func(*hub, *linkpb.Hello){
		"it knows nothing of sharing": func(h *hub, hello *linkpb.Hello) {
			h.Admit([]Member{{Name: "a", UID: "uid-a"}})
			hello.Shares = false
		},
		"it refuses the stream": func(*hub, *linkpb.Hello) {}, // a is not on its roster
	} {
		t.Run(what, func(t *testing.T) {
			_, a, out := openAsMember(t)
			a.Pace(time.Minute)
			hello, h := helloFrame(2, "", false), hubOf(out)
			defer h.stop()
			prepare(h, hello.GetHello())
			if err := greet(out, hello); err != nil {
				t.Fatal(err)
			}
			a.Link([]string{"b"})
			expect(t, a, Down{"b", Refused})
			if err := out.Send(mustEncode(t, 1)); err != nil {
				t.Fatal(err)
			}
			expect(t, a, received("b", 2, 1))
		})
	}
}

// TestAProcessThatIsSilentIsConnectedTo: b does not read what comes on its connection.
func TestAProcessThatIsSilentIsConnectedTo(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := newLoopback(t)
	defer f.end()
	a := f.join("a", 1)
	a.Admit([]Member{f.member("b")})
	w := rawWire(f, newKeyring(t, f.authority, f.authority, f.name("b"), time.Now()))
	c, err := w.dial(t.Context(), f.member("a"), w.keyring.PeerClient(f.name("a")))
	if err != nil {
		t.Fatal(err)
	}
	defer c.raw.Close()
	for _, frame := range []*linkpb.Frame{helloFrame(2, "", false), mustEncode(t, 1)} {
		if err := c.frame(frame); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, a, received("b", 2, 1))
	a.Link([]string{"b"})
	expect(t, a, Down{"b", Refused})
}

// TestAStreamThatWaitsHoldsNobodyUp: b gives up a stream that waits to succeed another one. a does
// not receive from it yet, but goes on hearing b's answers on the same connection.
func TestAStreamThatWaitsHoldsNobodyUp(t *testing.T) {
	inSuccession(t, func(t *testing.T, b newcomer) {
		b.a.Pace(time.Minute)
		b.open(6, false)
		waits := b.open(6, true)
		h := hubOf(waits)
		defer h.stop()
		h.Admit([]Member{{Name: "a", UID: "uid-a"}})
		b.a.Link([]string{"b"})
		expect(t, b.a, Up{"b"})
		waits.Close()
		for sequence := range uint64(3) {
			b.a.Ask("b", sequence, 0)
			nextAs[Asked](t, h).Answer("c", 0)
			expect(t, b.a, Answered{
				From:        "b",
				Sequence:    sequence,
				Coordinator: "c",
			})
		}
	})
}

// TestAStreamBeginsWithHello: what comes before it was sent on the stream before, which has ended.
func TestAStreamBeginsWithHello(t *testing.T) {
	_, a, out := openAsMember(t)
	a.Pace(time.Minute)
	c, h := out.(*outgoing).connection, hubOf(out)
	defer h.stop()
	h.Admit([]Member{{Name: "a", UID: "uid-a"}})
	if err := greet(out, helloFrame(5, "", false)); err != nil {
		t.Fatal(err)
	}
	a.Link([]string{"b"})
	expect(t, a, Up{"b"})
	if err := out.CloseSend(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Recv(); !errors.Is(err, io.EOF) {
		t.Fatalf("the stream ended with %v, want it in order", err)
	}
	if err := c.frame(mustEncode(t, 1)); err != nil {
		t.Fatal(err)
	}
	again := c.open(t.Context())
	if again == nil {
		t.Fatal("the connection takes no other stream")
	}
	if err := greet(again, helloFrame(6, "", false)); err != nil {
		t.Fatal(err)
	}
	if err := again.Send(mustEncode(t, 2)); err != nil {
		t.Fatal(err)
	}
	expect(t, a, received("b", 6, 2))
}
