package security

import (
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/transport"
)

// TestLinksOverAnotherCA: two agents' real links, with certificates that last some seconds, while
// the CA becomes another one. Whatever becomes of the CA, neither end may see a link go down: no
// election begins by it.
func TestLinksOverAnotherCA(t *testing.T) {
	old, err := identity.NewSuccession(time.Now().Add(-2 * time.Hour))
	must(t, err)
	prepared, err := old.Prepare(time.Now().Add(-identity.SpreadFor - time.Hour))
	must(t, err)
	taken, step, err := prepared.Advance(time.Now(), true)
	if err != nil || step != identity.TookOver {
		t.Fatalf("the step is %q (%v)", step, err)
	}
	lost, err := identity.NewSuccession(time.Now())
	must(t, err)
	for what, story := range map[string][]identity.Succession{
		"rotated":                          {old, prepared, taken},
		"deleted, and another one is made": {old, lost},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			until := time.Now().Add(4 * time.Second)
			a, b := newEnd(t, "scheduler-0", story[0], until), newEnd(t, "scheduler-1", story[0], until)
			a.links.Admit([]transport.Member{b.member()})
			b.links.Admit([]transport.Member{a.member()})
			a.links.Link([]string{"scheduler-1"})
			b.links.Link([]string{"scheduler-0"})
			for _, e := range []*end{a, b} {
				if up, ok := (<-e.links.Events()).(transport.Up); !ok || up.Name == "" {
					t.Fatalf("the link of %s is not up", e.name.Pod)
				}
			}
			for _, s := range story[1 : len(story)-1] {
				a.trust(t, s)
				b.trust(t, s)
			}
			// The last is with one of them first, as agents do not renew at the same instant.
			later := time.Now().Add(time.Hour)
			for _, e := range []*end{b, a} {
				last := story[len(story)-1]
				e.trust(t, last)
				e.certify(t, last, later)
			}
			over := time.After(time.Until(until) + time.Second) // of the first certificates, and of every link by them
			for sequence := uint64(1); ; sequence++ {
				a.links.Ask("scheduler-1", sequence, 0)
				select {
				case e := <-b.links.Events():
					asked, ok := e.(transport.Asked)
					if !ok {
						t.Fatalf("%s saw %#v", b.name.Pod, e)
					}
					asked.Answer("scheduler-1", 0)
				case <-time.After(patience):
					t.Fatal("a question never arrived")
				}
				if e, ok := (<-a.links.Events()).(transport.Answered); !ok || e.Sequence != sequence {
					t.Fatalf("%s saw %#v", a.name.Pod, e)
				}
				select {
				case <-over:
					return
				case <-time.After(5 * time.Millisecond):
				}
			}
		})
	}
}

// end is one end of links.
type end struct {
	name    identity.Name
	address string
	keyring *identity.Keyring
	links   transport.Links
}

func newEnd(t *testing.T, pod string, s identity.Succession, until time.Time) *end {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	e := &end{name: identity.Name{Namespace: "shop", Group: "scheduler", Pod: pod, UID: "uid-" + pod},
		address: listener.Addr().String(), keyring: identity.NewKeyring(time.Now)}
	e.trust(t, s)
	e.certify(t, s, until)
	e.links = transport.New(transport.Config{Listener: listener, Keyring: e.keyring, Self: e.name, Incarnation: 1,
		StateID: "state-" + pod, Reconnect: 50 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(e.links.Close)
	return e
}

func (e *end) member() transport.Member {
	return transport.Member{Name: e.name.Pod, UID: e.name.UID, Address: e.address}
}

func (e *end) trust(t *testing.T, s identity.Succession) {
	t.Helper()
	must(t, e.keyring.SetTrust(s.Bundle()))
}

func (e *end) certify(t *testing.T, s identity.Succession, until time.Time) {
	t.Helper()
	cert, key := certify(t, s.Current(), e.name, until)
	must(t, e.keyring.SetCertificate(cert, key))
}

func certify(t *testing.T, by *identity.Authority, name identity.Name, until time.Time) (certPEM, keyPEM []byte) {
	t.Helper()
	key, err := identity.NewKey()
	must(t, err)
	csr, err := identity.Request(key)
	must(t, err)
	certPEM, err = by.SignUntil(csr, name, time.Now(), until)
	must(t, err)
	keyPEM, err = identity.EncodeKey(key)
	must(t, err)
	return certPEM, keyPEM
}
