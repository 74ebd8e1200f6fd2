package roster

import (
	"bytes"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
)

// A subscription that fails is a reason to join by token at once only if our certificate, or what
// we trust, is why. Otherwise each change of the manager would have agents join that are only too
// many.
func TestWhatRefusesACertificate(t *testing.T) {
	other, err := identity.NewAuthority(time.Now())
	must(t, err)
	for name, test := range map[string]struct {
		edit       func(*testing.T, *agent)
		refused    bool
		unanswered int
	}{
		"nobody is there":                {func(t *testing.T, g *agent) { g.Address = nobody(t) }, false, 0},
		"sent away before the handshake": {func(t *testing.T, g *agent) { g.Address = full(t) }, false, 0},
		"not the manager": {func(t *testing.T, g *agent) {
			bundle, _, err := other.PEM()
			must(t, err)
			must(t, g.Keyring.SetTrust(bundle))
		}, true, 0},
		"a certificate of an authority that was lost": {func(t *testing.T, g *agent) {
			key, cert := issue(t, other, a, time.Now())
			must(t, g.Keyring.SetCertificate(cert, key))
		}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := newManager(t)
			g := newAgent(t, m, "a", certifiedAs(t, m, a))
			test.edit(t, g)
			err := g.follow(t.Context(), g.updates)
			if err == nil || g.refused != test.refused || g.unanswered != test.unanswered {
				t.Errorf("refused: %v, unanswered: %d (%v)", g.refused, g.unanswered, err)
			}
		})
	}
}

// A manager by whose clock our certificate has expired closes the connection. What it says of that
// may be lost, so the agent joins by token all the same, a little later.
func TestAfterSomeSilenceItJoins(t *testing.T) {
	authority, err := identity.NewAuthority(time.Now())
	must(t, err)
	m := startManager(t, authority, "127.0.0.1:0", guests{"a": a}, func(c *ServerConfig) {
		late := identity.NewKeyring(func() time.Time { return time.Now().Add(48 * time.Hour) })
		cert, key, err := authority.IssueManager(time.Now())
		must(t, err)
		must(t, late.SetCertificate(cert, key))
		must(t, late.SetTrust(c.Trust))
		c.Keyring = late
	})
	joins, failures := make(chan int), failureCount(0)
	newAgent(t, m, "a", certifiedAs(t, m, a), func(c *ClientConfig) {
		c.Token = func() (string, error) {
			select {
			case joins <- int(failures):
			case <-t.Context().Done():
			}
			return "", errors.New("that is enough")
		}
		c.Logger = slog.New(slog.NewTextHandler(&failures, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}).run(t)
	select {
	case attempts := <-joins:
		if attempts != mostUnanswered {
			t.Errorf("it joins after %d attempts, want %d", attempts, mostUnanswered)
		}
	case <-time.After(patience):
		t.Fatal("it never joins")
	}
}

// failureCount counts the failed attempts that an agent logs. (Connections do not count: within an
// attempt gRPC may make another one.)
type failureCount int

func (n *failureCount) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("no connection to the manager")) {
		*n++
	}
	return len(line), nil
}

// While all agents come back to another manager, silence is no reason to join.
func TestNobodyJoinsForSilenceWhileAllComeBack(t *testing.T) {
	m := newManager(t)
	for _, test := range []struct {
		unanswered int
		lost       time.Duration // so long ago the last steady subscription ended
		joins      bool
	}{
		{mostUnanswered - 1, time.Hour, false},
		{mostUnanswered, time.Hour, true},
		{mostUnanswered, failoverWithin / 2, false},
		{9 * mostUnanswered, failoverWithin / 2, false},
	} {
		g := newAgent(t, m, "a", certifiedAs(t, m, a))
		g.reconnect.told(500)
		g.reconnect.lost, g.unanswered = time.Now().Add(-test.lost), test.unanswered
		if got := g.needsCertificate(); got != test.joins {
			t.Errorf("after %d attempts, %v after the subscription: it joins: %v", test.unanswered, test.lost, got)
		}
	}
}

// nobody returns an address at which nobody is.
func nobody(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, listener.Close())
	return listener.Addr().String()
}

// full returns an address at which each connection is closed at once.
func full(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		must(t, listener.Close())
		<-done
	})
	return listener.Addr().String()
}
