package roster

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// impostor is a manager of somebody who has an authority of his own, and admits everybody.
func impostor(t *testing.T) *manager {
	t.Helper()
	m := newManager(t)
	m.Publish(sample(9))
	return m
}

// joined is an agent that one manager certified so long ago, and that connects to another. It has a
// bundle mounted. Each attempt that fails is told.
func joined(t *testing.T, by, to *manager, mounted []byte, ago time.Duration) (*agent, chan error) {
	t.Helper()
	failed := make(chan error)
	g := newAgent(t, to, "a", func(c *ClientConfig) {
		born := time.Now().Add(-ago)
		key, cert := issue(t, by.authority, a, born)
		must(t, c.Keyring.SetTrust(by.bundle))
		must(t, c.Keyring.SetCertificate(cert, key))
		c.Pinned = c.Keyring.NotAfter()
		c.Trust = func() ([]byte, error) { return mounted, nil }
		c.Logger = slog.New(failures{slog.DiscardHandler, failed, t.Context().Done()})
	})
	return g, failed
}

// trusts reports whether a keyring trusts an authority: whether it takes one that the authority
// certified for the manager. (For links the same authorities are trusted.)
func trusts(t *testing.T, k *identity.Keyring, authority *identity.Authority) bool {
	t.Helper()
	cert, key, err := authority.IssueManager(time.Now())
	must(t, err)
	other := identity.NewKeyring(time.Now)
	must(t, other.SetCertificate(cert, key))
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- tls.Server(far, other.RosterServer()).Handshake()
		far.Close()
	}()
	config := k.RosterClient()
	config.GetClientCertificate = nil
	client := tls.Client(near, config)
	err = client.Handshake()
	near.Close()
	<-served
	return err == nil
}

// A tenant forges the mounted bundle, and leads agents to a manager of its own. Whoever has a
// certificate that counts knows the true one, and does not follow it; nor does a link ever trust
// the forged authority.
func TestAnImpostorIsNotFollowed(t *testing.T) {
	m, evil := newManager(t), impostor(t)
	g, failed := joined(t, m, evil, evil.bundle, time.Hour)
	g.run(t)
	for range 4 { // by its certificate, and by its token
		select {
		case u := <-g.updates:
			t.Fatalf("it follows the impostor: %+v", u)
		case <-failed:
		}
		if trusts(t, g.Keyring, evil.authority) || !trusts(t, g.Keyring, m.authority) {
			t.Fatal("its links trust the impostor's authority, or its own no more")
		}
	}
	err := <-failed
	for _, says := range []string{"does not prove itself", "podesta-trust", "delete the pod"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v; want it to say %q", err, says)
		}
	}
	if len(g.kept) > 0 {
		t.Error("it keeps what the impostor sent")
	}
}

// The same agent follows the true manager, whatever is mounted: with a certificate that counts, and
// by its token with one that does not.
func TestTheKeptBundleIsPreferred(t *testing.T) {
	for name, ago := range map[string]time.Duration{
		"with its certificate": time.Hour,
		"by its token":         identity.Lifetime + time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			m, evil := newManager(t), impostor(t)
			m.Publish(sample(1))
			g, _ := joined(t, m, m, evil.bundle, ago)
			g.run(t)
			if u := g.next(t); u.Roster == nil || u.Roster.Generation != 1 {
				t.Errorf("it was told %+v", u)
			}
			if trusts(t, g.Keyring, evil.authority) || !trusts(t, g.Keyring, m.authority) {
				t.Error("its links trust the impostor's authority, or their own no more")
			}
		})
	}
}

// A manager that did not prove itself is a reason to join by token, once. An agent that cannot join
// goes on with its certificate: what led it astray may be over, and the API server, which a Join
// needs, away.
func TestWhoCannotJoinGoesOnWithItsCertificate(t *testing.T) {
	m, evil := newManager(t), impostor(t)
	m.Publish(sample(1))
	g, failed := joined(t, m, evil, evil.bundle, time.Hour)
	g.Token = func() (string, error) { return "", errors.New("no token") }
	var leads atomic.Pointer[string]
	leads.Store(&evil.address)
	g.Dial = func(ctx context.Context, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", *leads.Load())
	}
	g.run(t)
	<-failed // at the impostor
	leads.Store(&m.address)
	for late := time.After(patience); ; {
		select {
		case u := <-g.updates:
			if u.Roster == nil || u.Roster.Generation != 1 {
				t.Errorf("it was told %+v", u)
			}
			return
		case <-failed: // without a token
		case <-late:
			t.Fatal("it never uses its certificate again")
		}
	}
}

// The CA was lost, and there is another one. An agent whose certificate has ended is as one that
// begins: it joins by what is mounted, and then trusts nothing else.
func TestALostCAIsReplacedWhenTheCertificateHasEnded(t *testing.T) {
	lost, m := newManager(t), newManager(t)
	m.Publish(sample(2))
	g, _ := joined(t, lost, m, m.bundle, identity.Lifetime+time.Hour)
	g.run(t)
	if u := g.next(t); u.Roster == nil || u.Roster.Generation != 2 {
		t.Errorf("it was told %+v", u)
	}
	if trusts(t, g.Keyring, lost.authority) || !trusts(t, g.Keyring, m.authority) {
		t.Error("its links trust the lost authority, or the new one not")
	}
}

// What is mounted is for a manager to prove itself by. Before it has, no link trusts it, also where
// nothing else is known.
func TestWhatIsMountedIsNotTrustedBeforeAManagerProvedItself(t *testing.T) {
	m, evil := newManager(t), impostor(t)
	failed := make(chan error)
	g := newAgent(t, m, "a", func(c *ClientConfig) {
		c.Trust = func() ([]byte, error) { return evil.bundle, nil }
		c.Logger = slog.New(failures{slog.DiscardHandler, failed, t.Context().Done()})
	})
	g.run(t)
	for range 2 {
		<-failed
	}
	if trusts(t, g.Keyring, evil.authority) {
		t.Error("its links trust it")
	}
}

// An agent whose certificate cannot be used any more, for its machine was started again, still
// knows whom it trusted.
func TestTheKeptBundleOutlivesARestartOfTheMachine(t *testing.T) {
	m, evil := newManager(t), impostor(t)
	failed := make(chan error)
	g := newAgent(t, evil, "a", func(c *ClientConfig) {
		must(t, c.Keyring.SetTrust(m.bundle))
		c.Pinned = time.Now().Add(time.Hour)
		c.Trust = func() ([]byte, error) { return evil.bundle, nil }
		c.Logger = slog.New(failures{slog.DiscardHandler, failed, t.Context().Done()})
	})
	g.run(t)
	for range 2 {
		select {
		case u := <-g.updates:
			t.Fatalf("it follows the impostor: %+v", u)
		case <-failed:
		}
	}
	if _, ok := g.Keyring.Name(); ok || trusts(t, g.Keyring, evil.authority) {
		t.Error("it took the impostor's certificate, or trusts its authority")
	}
}

// A manager that is away proves nothing, and one that refuses a token has proved itself.
func TestOnlyAFailedProofIsCalledOne(t *testing.T) {
	m := newManager(t)
	for _, test := range []struct {
		name, token string
		stop        bool // before, for good
	}{
		{"refuses", "forged", false},
		{"away", "a", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.stop {
				m.stop()
			}
			g := newAgent(t, m, test.token, func(c *ClientConfig) {
				must(t, c.Keyring.SetTrust(m.bundle))
				c.Pinned = time.Now().Add(time.Hour)
			})
			err := g.joinByToken(t.Context())
			if unproved := (*unprovedError)(nil); err == nil || errors.As(err, &unproved) {
				t.Errorf("got %v", err)
			}
			if !test.stop && codeOf(err) != rosterpb.Refusal_DENIED {
				t.Errorf("it was not refused: %v", err)
			}
		})
	}
}
