package transport

import (
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/test/bubble"
	"github.com/podesta-dev/podesta/test/port"
)

const beat = 20 * time.Millisecond // between two attempts to make a link

// fabric is a world in which processes are started and killed. The contract holds in each.
type fabric interface {
	join(name string, incarnation uint64) Links
	// has another process with the same name run beside the one that has joined
	copy(name string, incarnation uint64) Links
	// has the processes that join from now on start with this roster file, and log here
	begin(f *RosterFile, log *slog.Logger)
	kill(name string)
	member(name string) Member
	// replaces the certificate of a process that has joined
	certify(name string, from, until time.Time)
}

// inEachFabric runs a scenario over TLS on this machine, and over the in-memory network in a
// bubble with virtual time.
func inEachFabric(t *testing.T, story func(*testing.T, fabric)) {
	t.Run("TLS", func(t *testing.T) {
		defer goleak.VerifyNone(t)
		f := newLoopback(t)
		defer f.end()
		story(t, f)
	})
	t.Run("memory", func(t *testing.T) {
		bubble.Test(t, func(t *testing.T) {
			f := newVirtualNetwork()
			defer f.end()
			story(t, f)
		})
	})
}

// virtualNetwork is the fabric of the in-memory network.
type virtualNetwork struct {
	*Network
	joined []Links
}

func newVirtualNetwork() *virtualNetwork {
	n := NewNetwork()
	n.Reconnect = beat
	return &virtualNetwork{Network: n}
}

func (m *virtualNetwork) join(name string, incarnation uint64) Links {
	links := m.JoinWith(name, incarnation, "state-"+name)
	m.joined = append(m.joined, links)
	return links
}

func (m *virtualNetwork) copy(name string, incarnation uint64) Links {
	links := m.Copy(name, incarnation, "copy-"+name)
	m.joined = append(m.joined, links)
	return links
}

func (m *virtualNetwork) begin(f *RosterFile, log *slog.Logger) { m.File, m.Logger = f, log }

func (m *virtualNetwork) kill(name string) { m.Kill(name) }

func (m *virtualNetwork) certify(name string, from, until time.Time) { m.Certify(name, from, until) }

func (m *virtualNetwork) member(name string) Member {
	return Member{
		Name:    name,
		UID:     "uid-" + name,
		Address: name + ":1",
	}
}

func (m *virtualNetwork) end() {
	for _, links := range m.joined {
		links.Close()
	}
}

// loopback is the fabric of TLS on 127.0.0.1. A process keeps its address when it starts
// again.
type loopback struct {
	t         testing.TB
	authority *identity.Authority
	addresses map[string]string
	keyrings  map[string]*identity.Keyring
	living    map[string]Links
	joined    []Links

	rosterFile *RosterFile
	logger     *slog.Logger
}

func newLoopback(t testing.TB) *loopback {
	authority, err := identity.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return newLoopbackOf(t, authority)
}

func newLoopbackOf(t testing.TB, authority *identity.Authority) *loopback {
	return &loopback{
		t:         t,
		authority: authority,
		addresses: map[string]string{},
		keyrings:  map[string]*identity.Keyring{},
		living:    map[string]Links{},
	}
}

func (l *loopback) name(process string) identity.Name {
	return identity.Name{
		Namespace: "shop",
		Group:     "scheduler",
		Pod:       process,
		UID:       "uid-" + process,
	}
}

func (l *loopback) member(process string) Member {
	if l.addresses[process] == "" {
		l.addresses[process] = port.Of(l.t) // until the process joins, no process listens there
	}
	return Member{
		Name:    process,
		UID:     "uid-" + process,
		Address: l.addresses[process],
	}
}

func (l *loopback) join(process string, incarnation uint64) Links {
	l.kill(process)
	l.keyrings[process] = newKeyring(l.t, l.authority, l.authority, l.name(process), time.Now())
	l.living[process] = l.start(process, l.member(process).Address, incarnation, l.keyrings[process])
	return l.living[process]
}

func (l *loopback) copy(process string, incarnation uint64) Links {
	return l.start(process, "127.0.0.1:0", incarnation,
		newKeyring(l.t, l.authority, l.authority, l.name(process), time.Now()))
}

func (l *loopback) begin(f *RosterFile, log *slog.Logger) { l.rosterFile, l.logger = f, log }

func (l *loopback) start(process, address string, incarnation uint64,
	keyring *identity.Keyring) Links {
	links := New(Config{
		Listener:    l.listen(address),
		Keyring:     keyring,
		Self:        l.name(process),
		Incarnation: incarnation,
		StateID:     "state-" + process,
		RosterFile:  l.rosterFile,
		Reconnect:   beat,
		Logger:      l.logger,
	})
	l.joined = append(l.joined, links)
	return links
}

func (l *loopback) certify(process string, from, until time.Time) {
	if err := certifyUntil(l.keyrings[process], l.authority, l.name(process), from,
		until); err != nil {
		l.t.Fatal(err)
	}
}

// kill closes the sockets, as the kernel does when a process is killed.
func (l *loopback) kill(process string) {
	if links := l.living[process]; links != nil {
		links.(*hub).halt()
		delete(l.living, process)
	}
}

func (l *loopback) listen(address string) net.Listener {
	l.t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		l.t.Fatal(err)
	}
	return listener
}

func (l *loopback) end() {
	for _, links := range l.joined {
		links.Close()
	}
}

// newKeyring returns a keyring with a certificate of one authority, issued at that time, that
// trusts another.
func newKeyring(t testing.TB, certifies, trusts *identity.Authority, n identity.Name,
	issued time.Time) *identity.Keyring {
	t.Helper()
	keyring := identity.NewKeyring(time.Now)
	if err := trust(keyring, trusts); err != nil {
		t.Fatal(err)
	}
	if err := certify(keyring, certifies, n, issued); err != nil {
		t.Fatal(err)
	}
	return keyring
}

func trust(keyring *identity.Keyring, authority *identity.Authority) error {
	bundle, _, err := authority.PEM()
	if err != nil {
		return err
	}
	return keyring.SetTrust(bundle)
}

func certify(keyring *identity.Keyring, authority *identity.Authority, n identity.Name,
	issued time.Time) error {
	return certifyUntil(keyring, authority, n, issued, issued.Add(identity.Lifetime))
}

func certifyUntil(keyring *identity.Keyring, authority *identity.Authority, n identity.Name, from,
	until time.Time) error {
	key, err := identity.NewKey()
	if err != nil {
		return err
	}
	csr, err := identity.Request(key)
	if err != nil {
		return err
	}
	certPEM, err := authority.SignUntil(csr, n, from, until)
	if err != nil {
		return err
	}
	keyPEM, err := identity.EncodeKey(key)
	if err != nil {
		return err
	}
	return keyring.SetCertificate(certPEM, keyPEM)
}

// introduce makes all processes admit all, and makes the links of the first to the others.
func introduce(f fabric, names []string, all ...Links) {
	members := make([]Member, len(names))
	for i, name := range names {
		members[i] = f.member(name)
	}
	for _, links := range all {
		links.Admit(members)
	}
	all[0].Link(names)
}

// next returns the next event, an Unlinked apart; the test fails if none comes.
func next(t *testing.T, links Links) Event {
	t.Helper()
	select {
	case e, open := <-links.Events():
		if !open {
			t.Fatal("Events is closed")
		}
		if _, ok := e.(Unlinked); ok {
			return next(t, links)
		}
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no event came in 10 s")
		return nil
	}
}

// expect expects the next event to be exactly this one.
func expect(t *testing.T, links Links, want Event) {
	t.Helper()
	if got := next(t, links); fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		t.Fatalf("event %#v, want %#v", got, want)
	}
}

// say returns the numbered message of the tests.
func say(number int) election.Message {
	return election.Message{
		Kind:     election.Election,
		Election: election.ID{Initiator: "a", Sequence: uint64(number)},
	}
}

func received(from string, incarnation uint64, number int) Event {
	return Received{
		From:        from,
		Incarnation: incarnation,
		Algorithm:   "Bully",
		Message:     say(number),
	}
}
