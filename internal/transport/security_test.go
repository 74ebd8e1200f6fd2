package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// TestStrangersOfOneAddressKeepNobodyOut opens silent connections from one address: no more than
// its share stays open, and members can still connect.
func TestStrangersOfOneAddressKeepNobodyOut(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := newLoopback(t)
	defer f.end()
	a := f.join("a", 1)
	a.Admit([]Member{f.member("b"), f.member("c")})
	elsewhere := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	open := func() net.Conn {
		conn, err := elsewhere.DialContext(t.Context(), "tcp", f.member("a").Address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	for range connlimit.StrangersOfAddress {
		open()
	}
	extra := open()
	// after that it would be closed because it is silent
	if err := extra.SetReadDeadline(time.Now().Add(handshakeMax / 2)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, extra); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("one connection more than its share: %v, want it to be closed", err)
	}
	expectHonestVoice(t, f, a)
}

// TestAnIntruderHasNoEffect makes a process from outside the group connect, send Hello and vote. It
// must be rejected, and the process must notice nothing of it: the next message that it receives is
// the honest one.
func TestAnIntruderHasNoEffect(t *testing.T) {
	foreign, err := identity.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for what, intrude := range map[string]func(*loopback) *identity.Keyring{
		"a process of another group": func(f *loopback) *identity.Keyring {
			n := f.name("b")
			n.Group = "billing"
			return newKeyring(t, f.authority, f.authority, n, time.Now())
		},
		"a process of another namespace": func(f *loopback) *identity.Keyring {
			n := f.name("b")
			n.Namespace = "evil"
			return newKeyring(t, f.authority, f.authority, n, time.Now())
		},
		"a process whose certificate has expired": func(f *loopback) *identity.Keyring {
			return newKeyring(t, f.authority, f.authority, f.name("b"),
				time.Now().Add(-identity.Lifetime-time.Second))
		},
		"a process that another authority has certified": func(f *loopback) *identity.Keyring {
			return newKeyring(t, foreign, f.authority, f.name("b"), time.Now())
		},
		"the pod of that name with another UID": func(f *loopback) *identity.Keyring {
			n := f.name("b")
			n.UID = "uid-of-an-earlier-one"
			return newKeyring(t, f.authority, f.authority, n, time.Now())
		},
		"a process that is not on the roster": func(f *loopback) *identity.Keyring {
			return newKeyring(t, f.authority, f.authority, f.name("d"), time.Now())
		},
		"the process itself": func(f *loopback) *identity.Keyring {
			return newKeyring(t, f.authority, f.authority, f.name("a"), time.Now())
		},
		"the manager": func(f *loopback) *identity.Keyring {
			certPEM, keyPEM, err := f.authority.IssueManager(time.Now())
			if err != nil {
				t.Fatal(err)
			}
			keyring := newKeyring(t, f.authority, f.authority, f.name("b"), time.Now())
			if err := keyring.SetCertificate(certPEM, keyPEM); err != nil {
				t.Fatal(err)
			}
			return keyring
		},
	} {
		t.Run(what, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			f := newLoopback(t)
			defer f.end()
			a := f.join("a", 1)
			a.Admit([]Member{f.member("b"), f.member("c")})

			out, err := openRaw(t, f, intrude(f))
			if err == nil {
				defer out.Close()
				for _, frame := range []*linkpb.Frame{
					greeting(99, "", false),
					askFrame(1, 0),
					mustEncode(t, 1),
					leavingFrame(),
				} {
					if err := out.sendFrame(frame); err != nil {
						break // already rejected
					}
				}
				err = out.accepted()
			}
			var l *loss
			if !errors.As(err, &l) || l.evidence != Rejected {
				t.Errorf("the intruder got %v, want to be rejected", err)
			}
			expectHonestVoice(t, f, a)
		})
	}
}

// TestWithoutACertificateNothingIsSaid connects as clients whose TLS differs from an agent's.
func TestWithoutACertificateNothingIsSaid(t *testing.T) {
	for what, change := range map[string]func(*tls.Config){
		"no certificate": func(c *tls.Config) {
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
				return &tls.Certificate{}, nil
			}
		},
		"TLS 1.2": func(c *tls.Config) {
			c.MinVersion, c.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
		},
		"another protocol": func(c *tls.Config) { c.NextProtos = []string{"h2"} },
		"no protocol":      func(c *tls.Config) { c.NextProtos = nil },
	} {
		t.Run(what, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			f := newLoopback(t)
			defer f.end()
			a := f.join("a", 1)
			a.Admit([]Member{f.member("b"), f.member("c")})

			config := newKeyring(t, f.authority, f.authority, f.name("b"),
				time.Now()).PeerClient(f.name("a"))
			change(config)
			_, err := rawWire(f, nil).connect(t.Context(), f.member("a").Address, config)
			var l *loss
			if !errors.As(err, &l) || l.evidence != Rejected {
				t.Errorf("the client got %v, want to be rejected", err)
			}
			expectHonestVoice(t, f, a)
		})
	}
}

// TestAnImpostorIsNotSpokenTo makes another process listen at b's address.
func TestAnImpostorIsNotSpokenTo(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := newLoopback(t)
	defer f.end()
	a, c := f.join("a", 1), f.join("c", 1)
	c.Admit([]Member{f.member("a")})
	impostor := f.member("b")
	impostor.Address = f.member("c").Address
	a.Admit([]Member{impostor})
	a.Link([]string{"b"})
	a.Send("b", "Bully", 0, say(1))
	expect(t, a, Down{"b", Rejected})
	c.Close()
	for e := range c.Events() {
		t.Errorf("the impostor got %#v", e)
	}
}

// TestAnAdmittedProcessMustKeepToTheProtocol sends what an agent never would, as an admitted
// process.
func TestAnAdmittedProcessMustKeepToTheProtocol(t *testing.T) {
	overlong := mustEncode(t, 1)
	overlong.GetMessage().List = make([]string, maxEntries+1)
	long := mustEncode(t, 1)
	long.GetMessage().Process = string(make([]byte, maxNameBytes+1))
	excessive := &linkpb.Frame{Frame: &linkpb.Frame_LeaseRequest{LeaseRequest: &linkpb.LeaseRequest{
		Kind:  "VOTE",
		Epoch: 1 << 53,
	}}}
	for what, frames := range map[string][]*linkpb.Frame{
		"a message before the Hello": {mustEncode(t, 1)},
		"an ask before the Hello":    {askFrame(1, 0)},
		"a second Hello":             {greeting(2, "", false), greeting(3, "", false)},
		"too many entries":           {greeting(2, "", false), overlong},
		"a name that is too long":    {greeting(2, "", false), long},
		"more bytes than allowed":    {greeting(2, "", false), huge(t)},
		"an epoch above all":         {greeting(2, "", false), excessive},
		"a state ID of two lines":    {greeting(2, "a\nb", false)},
		"the last incarnation":       {greeting(1<<63, "", false)},
		"a long signature": {
			helloFrame(&linkpb.Start{Signature: make([]byte, maxSignature+1)}, "", false, nil),
		},
		"a long certificate": {
			helloFrame(&linkpb.Start{Certificate: make([]byte, maxCertificate+1)}, "", false, nil),
		},
		"too many fields of a roster file": {helloFrame(&linkpb.Start{}, "", false,
			&RosterFile{Fields: make([]Field, maxFields+1)})},
	} {
		t.Run(what, func(t *testing.T) {
			f, a, out := openAsMember(t)
			for _, frame := range frames {
				if err := out.sendFrame(frame); err != nil && !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
			}
			var err error
			for err == nil { // first the Hello is accepted, perhaps
				_, err = out.receiveReply()
			}
			if evidenceOf(err) != Rejected {
				t.Errorf("the stream ended with %v, want an error that says why", err)
			}
			expectHonestVoice(t, f, a)
		})
	}
}

// TestWhoDoesNotReadIsNotWaitedFor asks until nothing more fits on the way, reads no answer, and is
// taken off the roster.
func TestWhoDoesNotReadIsNotWaitedFor(t *testing.T) {
	f, a, out := openAsMember(t)
	if err := out.sendFrame(greeting(2, "", false)); err != nil {
		t.Fatal(err)
	}
	long, h := make([]byte, maxRoster), a.(*hub)
	for stuck := false; !stuck; {
		if err := out.sendFrame(rosterRequestFrame()); err != nil {
			t.Fatal(err)
		}
		request := next(t, a).(RosterRequested)
		request.Answer(long)
		stuck = len(servedOf(h, "b").replies) == repliesAhead
	}
	before := servedOf(h, "b")
	a.Admit([]Member{f.member("c")})
	select {
	case <-before.written: // it was still being written to
	case <-time.After(5 * lastWord):
		t.Fatal("its stream is still open")
	}
	expectHonestVoice(t, f, a)
}

// TestAnEndIsSaid: between two processes somebody may end their connections, but not make one of them
// believe that the other has said all.
func TestAnEndIsSaid(t *testing.T) {
	for what, end := range map[string]func(*connection) error{
		"FIN": func(c *connection) error {
			return c.conn.(interface{ CloseWrite() error }).CloseWrite()
		},
		"an End, in order": func(c *connection) error { return c.sendFrame(endFrame()) },
	} {
		t.Run(what, func(t *testing.T) {
			f, a, out := openAsMember(t)
			if err := greet(out, greeting(2, "", false)); err != nil {
				t.Fatal(err)
			}
			if err := end(out); err != nil {
				t.Fatal(err)
			}
			_, err := out.receiveReply()
			if inOrder := errors.Is(err, io.EOF); inOrder != (what == "an End, in order") {
				t.Errorf("the other end is taken for one in order: %v (%v)", inOrder, err)
			}
			expectHonestVoice(t, f, a)
		})
	}
}

// TestTheEndOfAConnectionIsNotTheEndOfAStream: it is said by a word, or not at all.
func TestTheEndOfAConnectionIsNotTheEndOfAStream(t *testing.T) {
	near, far := net.Pipe()
	far.Close()
	c := newConnection(t.Context(), near, near, maxFrame)
	if _, err := c.receiveReply(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("this process's stream ends with %v", err)
	}
	if _, err := c.receiveFrame(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the peer's stream ends with %v", err)
	}
}

// servedOf returns the stream of a process.
func servedOf(h *hub, name string) *served {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.served[name]
}

func TestOfTwoStreamsTheNewestIncarnationIsHeard(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := newLoopback(t)
	defer f.end()
	a := f.join("a", 1)
	a.Admit([]Member{f.member("b"), f.member("c")})
	keyring := newKeyring(t, f.authority, f.authority, f.name("b"), time.Now())
	greet := func(incarnation uint64) (*connection, error) {
		out, err := openRaw(t, f, keyring)
		if err != nil {
			t.Fatal(err)
		}
		if err := out.sendFrame(greeting(incarnation, "", false)); err != nil {
			t.Fatal(err)
		}
		return out, out.accepted()
	}

	five, err := greet(5)
	if err != nil {
		t.Fatal(err)
	}
	defer five.Close()
	four, err := greet(4)
	if err == nil || evidenceOf(err) != Rejected {
		t.Errorf("incarnation 4 after 5 got %v, want to be rejected", err)
	}
	four.Close()
	six, err := greet(6)
	if err != nil {
		t.Fatal(err)
	}
	defer six.Close()
	reply, err := five.receiveReply()
	if got := reply.GetRival().GetIncarnation(); err != nil || got != 4 {
		t.Errorf("incarnation 5 was told %v, %v, want its rival", reply, err)
	}
	if _, err := five.receiveReply(); err == nil || evidenceOf(err) != Rejected {
		t.Errorf("incarnation 5 after 6 got %v, want its stream closed", err)
	}
	again, err := greet(6)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if _, err := six.receiveReply(); evidenceOf(err) != Rejected {
		t.Errorf("the older stream of incarnation 6 got %v, want it closed", err)
	}
	if err := again.sendFrame(mustEncode(t, 1)); err != nil {
		t.Fatal(err)
	}
	expect(t, a, received("b", 6, 1))

	// An earlier one is not heard either when the newest has gone, and is told why.
	again.Close()
	lower, err := greet(5)
	for ; endedOf(err).GetLaterRuns(); lower, err = greet(5) { // until a has noticed that
		lower.Close()
	}
	lower.Close()
	if evidenceOf(err) != Rejected || endedOf(err).GetLater().GetIncarnation() != 6 {
		t.Errorf("incarnation 5 after 6 has ended got %v", err)
	}
}

// openAsMember opens a stream to a as b, which a admits. The kernel of a is patient with it.
func openAsMember(t *testing.T) (f *loopback, a Links, out *connection) {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	f = newLoopback(t)
	t.Cleanup(f.end)
	a = f.join("a", 1)
	a.Pace(time.Minute)
	a.Admit([]Member{f.member("b"), f.member("c")})
	out, err := openRaw(t, f, newKeyring(t, f.authority, f.authority, f.name("b"), time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(out.Close)
	a.Pace(beat)
	return f, a, out
}

// openRaw opens a stream to a as an agent does; the test decides what is sent. It ends after a
// minute, which is longer than an event is waited for (next).
func openRaw(t *testing.T, f *loopback, keyring *identity.Keyring) (*connection, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return rawWire(f, keyring).dial(ctx, f.member("a"))
}

// greeting is the Hello of an incarnation that has signed nothing.
func greeting(incarnation uint64, stateID string, succeeds bool) *linkpb.Frame {
	return helloFrame(&linkpb.Start{Incarnation: incarnation}, stateID, succeeds, nil)
}

// greet says Hello on a stream, and waits until that is accepted.
func greet(out *connection, hello *linkpb.Frame) error {
	return errors.Join(out.sendFrame(hello), out.accepted())
}

// rawWire is the wire of a process to which nobody can connect.
func rawWire(f *loopback, keyring *identity.Keyring) *tlsWire {
	h := newHub("intruder", 1, "", beat, f.living["a"].(*hub).log)
	return newTLSWire(h, f.name("intruder"), keyring)
}

// expectHonestVoice expects the first message that a receives to be the one that c sends now.
func expectHonestVoice(t *testing.T, f *loopback, a Links) {
	t.Helper()
	c := f.join("c", 1)
	c.Admit([]Member{f.member("a")})
	c.Link([]string{"a"})
	c.Send("a", "Bully", 0, say(42))
	expect(t, a, received("c", 1, 42))
}

func mustEncode(t testing.TB, number int) *linkpb.Frame {
	t.Helper()
	frame, err := encode("Bully", 0, say(number))
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// huge can be sent by an agent, and is more than an agent may receive.
func huge(t *testing.T) *linkpb.Frame {
	frame := mustEncode(t, 1)
	frame.GetMessage().Kind = string(make([]byte, maxFrame))
	return frame
}
