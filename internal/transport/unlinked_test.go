package transport

import (
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

// unlinked returns the next Unlinked.
func unlinked(t *testing.T, links Links) Unlinked {
	t.Helper()
	for deadline := time.After(15 * time.Second); ; {
		select {
		case e := <-links.Events():
			if u, ok := e.(Unlinked); ok {
				return u
			}
		case <-deadline:
			t.Fatal("nobody says why there is no link")
		}
	}
}

// serves has a process with that keyring serve where b is looked for.
func serves(f *loopback, keyring *identity.Keyring) Member {
	f.start("b", f.member("b").Address, 1, keyring)
	return f.member("b")
}

// An Unlinked has the cause, whatever keeps two processes from a link.
func TestWhyThereIsNoLink(t *testing.T) {
	other, err := identity.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		b    func(*loopback) Member // where a looks for b
		want string
	}{
		"another CA, which a does not trust": {func(f *loopback) Member {
			return serves(f, newKeyring(t, other, f.authority, f.name("b"), time.Now()))
		}, "its certificate is not of a CA that this process trusts"},
		"another CA, which b trusts": {func(f *loopback) Member {
			return serves(f, newKeyring(t, f.authority, other, f.name("b"), time.Now()))
		}, "it refuses this process in the handshake (tls: bad certificate)"},
		"a certificate that begins later": {func(f *loopback) Member {
			return serves(f, newKeyring(t, f.authority, f.authority, f.name("b"), time.Now().Add(time.Hour)))
		}, "by this machine's clock it is earlier"},
		"a certificate that has ended": {func(f *loopback) Member {
			return serves(f, newKeyring(t, f.authority, f.authority, f.name("b"),
				time.Now().Add(-identity.Lifetime-time.Hour)))
		}, "its certificate ended at"},
		"another group": {func(f *loopback) Member {
			name := f.name("b")
			name.Group = "billing"
			return serves(f, newKeyring(t, f.authority, f.authority, name, time.Now()))
		}, "/billing/"},
		"a roster without a": {func(f *loopback) Member {
			f.join("b", 1)
			return f.member("b")
		}, "it refuses this process in the handshake (tls: bad certificate)"},
		"a wrong port": {func(f *loopback) Member { return f.member("b") }, "nobody listens at 127.0.0.1:"},
		"an unknown host": {func(*loopback) Member {
			return Member{Name: "b", UID: "uid-b", Address: "b.invalid:4041"}
		}, "the host of b.invalid:4041 is not known"},
		"no address": {func(*loopback) Member {
			return Member{Name: "b", UID: "uid-b"}
		}, "the roster has no address of it"},
		"a path that drops large packets": {func(f *loopback) Member {
			mute := f.listen("127.0.0.1:0")
			f.t.Cleanup(func() { mute.Close() })
			return Member{Name: "b", UID: "uid-b", Address: mute.Addr().String()}
		}, "the path drops large packets (MTU)"},
		"another protocol": {func(f *loopback) Member {
			plain := f.listen("127.0.0.1:0")
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for {
					c, err := plain.Accept()
					if err != nil {
						return
					}
					_, _ = c.Write([]byte("220 mail.example.com\r\n"))
					_ = c.(*net.TCPConn).CloseWrite()
				}
			}()
			f.t.Cleanup(func() { plain.Close(); <-ended })
			return Member{Name: "b", UID: "uid-b", Address: plain.Addr().String()}
		}, "speaks no TLS"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Cleanup(func() { goleak.VerifyNone(t) })
			f := newLoopback(t)
			t.Cleanup(f.end)
			a := f.join("a", 1)
			a.(*hub).grace = 50 * time.Millisecond
			a.Admit([]Member{c.b(f)})
			a.Link([]string{"b"})
			if u := unlinked(t, a); u.Name != "b" || !strings.Contains(u.Cause, c.want) {
				t.Errorf("%+v, want that %q", u, c.want)
			}
		})
	}
}

// The cause comes after some seconds, and then seldom: sooner if it is another one.
func TestACauseIsToldSeldom(t *testing.T) {
	inMemory(t, func(t *testing.T, m *virtualNetwork) {
		a := m.join("a", 1)
		introduce(m, []string{"a", "b"}, a)
		expect(t, a, Down{"b", Refused})
		began, causes := time.Now(), map[string]bool{}
		await := func(least, most time.Duration) {
			t.Helper()
			causes[nextUnlinked(t, a).Cause] = true
			if took := time.Since(began); took < least || took > most {
				t.Errorf("told after %s, want between %s and %s", took, least, most)
			}
		}
		await(unlinkedAfter, unlinkedAfter+2*beat)
		await(unlinkedAfter+complainEvery, unlinkedAfter+complainEvery+2*beat)
		m.Cut("a", "b")
		began = time.Now()
		await(otherCauseAfter, otherCauseAfter+2*halfOpen(leastPatience))
		m.Heal("a", "b")
		m.join("b", 1).Admit([]Member{m.member("a")})
		expect(t, a, Up{"b"})
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if n := len(a.Events()); n != 0 {
			t.Errorf("%d events, want none while the link is up", n)
		}
		m.kill("b") // after which the time begins anew
		expect(t, a, Down{"b", Closed})
		began = time.Now()
		await(unlinkedAfter, unlinkedAfter+2*beat)
		if len(causes) != 2 {
			t.Errorf("causes %v, want 2", causes)
		}
	})
}

// nextUnlinked returns the next event, which has to be an Unlinked. It may be long in coming.
func nextUnlinked(t *testing.T, links Links) Unlinked {
	t.Helper()
	e, ok := (<-links.Events()).(Unlinked)
	if !ok || e.Name != "b" {
		t.Fatalf("event %#v, want an Unlinked of b", e)
	}
	return e
}

// A process that leaves on purpose may take longer to come back.
func TestWhoLeftIsMissedLater(t *testing.T) {
	inMemory(t, func(t *testing.T, m *virtualNetwork) {
		a, b := m.join("a", 1), m.join("b", 1)
		introduce(m, []string{"a", "b"}, a, b)
		b.Link([]string{"a"})
		expect(t, a, Up{"b"})
		expect(t, b, Up{"a"})
		b.Leave(t.Context())
		expect(t, a, Down{"b", Left})
		m.kill("b")
		began := time.Now()
		nextUnlinked(t, a)
		if took := time.Since(began); took < leftAfter {
			t.Errorf("it is missed after %s, want %s", took, leftAfter)
		}
	})
}

// A peer's words in a cause are short, and cannot move a terminal's cursor.
func TestACauseIsPlain(t *testing.T) {
	got := causeOf(lossOf(endedWith("\x1b[2Jé\n"+strings.Repeat("x", 1<<16))), "10.0.0.1:4041")
	if want := "it refuses this process: ?[2J?"; !strings.HasPrefix(got, want) || len(got) > MaxCause {
		t.Errorf("%d bytes: %q, want them to begin with %q", len(got), got, want)
	}
}

func endedWith(text string) *linkpb.Ended {
	return &linkpb.Ended{Reason: linkpb.Ended_UNWANTED, Text: text}
}
