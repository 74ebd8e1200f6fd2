package roster

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"reflect"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/test/port"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen, on a machine that does much else.
const patience = 2 * time.Minute

// guests is an Admission that admits the tokens on its list, by name, and refuses all others.
type guests map[string]identity.Name

func (g guests) Admit(_ context.Context, token string) (identity.Name, error) {
	switch token {
	case "other-audience":
		return identity.Name{}, Refuse("the token is not valid for audience podesta.dev")
	case "no-label":
		return identity.Name{}, Refuse("the pod shop/x carries no label podesta.dev/group: add " +
			"it to the pod template")
	case "api-down":
		return identity.Name{}, errors.New("connection refused")
	}
	if n, ok := g[token]; ok {
		return n, nil
	}
	return identity.Name{}, Refuse("the token is not valid")
}

func (g guests) Readmit(_ context.Context, name identity.Name) error {
	for _, n := range g {
		if n == name {
			return nil
		}
	}
	return Refuse("the pod %s/%s is gone", name.Namespace, name.Pod)
}

func (guests) Present(identity.Name) bool { return true }

func (guests) Claims(string) string { return "shop" }

// a, b and c are the pods of the tests; the token of each is its name.
var (
	a = identity.Name{
		Namespace: "shop",
		Group:     "scheduler",
		Pod:       "scheduler-0",
		UID:       "uid-a",
	}
	b = identity.Name{
		Namespace: "shop",
		Group:     "scheduler",
		Pod:       "scheduler-1",
		UID:       "uid-b",
	}
)

// manager is a Server with real TLS on 127.0.0.1 and everything that it needs.
type manager struct {
	*Server
	authority *identity.Authority
	bundle    []byte
	address   string
	stop      func()
}

func newManager(t *testing.T) *manager {
	t.Helper()
	authority, err := identity.NewAuthority(time.Now())
	must(t, err)
	return startManager(t, authority, port.Of(t), guests{"a": a, "b": b})
}

func startManager(t *testing.T, authority *identity.Authority, address string, admission Admission,
	edit ...func(*ServerConfig)) *manager {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	must(t, err)
	return serve(t, authority, listener, admission, edit...)
}

func serve(t *testing.T, authority *identity.Authority, listener net.Listener, admission Admission,
	edit ...func(*ServerConfig)) *manager {
	t.Helper()
	bundle, _, err := authority.PEM()
	must(t, err)
	keyring := identity.NewKeyring(time.Now)
	cert, key, err := authority.IssueManager(time.Now())
	must(t, err)
	must(t, keyring.SetCertificate(cert, key))
	must(t, keyring.SetTrust(bundle))
	m := &manager{
		authority: authority,
		bundle:    bundle,
		address:   listener.Addr().String(),
	}
	cfg := ServerConfig{
		Keyring:   keyring,
		Authority: authority,
		Trust:     bundle,
		Admission: admission,
		Sightings: NewSightings(time.Now),
		Now:       time.Now,
		Logger:    slog.New(slog.DiscardHandler),
	}
	for _, e := range edit {
		e(&cfg)
	}
	m.Server = NewServer(cfg)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- m.Serve(ctx, listener) }()
	m.stop = sync.OnceFunc(func() {
		cancel()
		must(t, <-served)
	})
	t.Cleanup(m.stop)
	return m
}

// agent is a running Client and the updates that it delivered.
type agent struct {
	*Client
	updates chan Update
	mu      sync.Mutex
	kept    [][3][]byte
	stop    func()
}

// newAgent returns an agent of the manager that retries without delay; edit changes its
// configuration.
func newAgent(t *testing.T, m *manager, token string, edit ...func(*ClientConfig)) *agent {
	t.Helper()
	g := &agent{updates: make(chan Update)}
	cfg := ClientConfig{
		Address: m.address,
		Token:   func() (string, error) { return token, nil },
		Trust:   func() ([]byte, error) { return m.bundle, nil },
		Keyring: identity.NewKeyring(time.Now),
		Boot:    func() time.Duration { return time.Duration(time.Now().UnixNano()) },
		Keep: func(cert, key, trust []byte, _ time.Duration) error {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.kept = append(g.kept, [3][]byte{cert, key, trust})
			return nil
		},
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, e := range edit {
		e(&cfg)
	}
	g.Client = NewClient(cfg)
	g.Client.reconnect.first, g.Client.reconnect.most = 10*time.Millisecond, 10*time.Millisecond
	return g
}

func (g *agent) run(t *testing.T) *agent {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- g.Run(ctx, g.updates) }()
	g.stop = sync.OnceFunc(func() {
		cancel()
		must(t, <-done)
	})
	t.Cleanup(g.stop)
	return g
}

func (g *agent) next(t *testing.T) Update {
	t.Helper()
	select {
	case u := <-g.updates:
		return u
	case <-time.After(patience):
		t.Fatal("no update came")
		return Update{}
	}
}

// sees waits until the manager's sightings of the group satisfy the condition.
func (m *manager) sees(t *testing.T, what string, ok func([]Sighting) bool) {
	t.Helper()
	changed := make(chan struct{}, 1)
	m.Sightings.OnChange(func(string, string) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	deadline := time.After(patience)
	for !ok(m.Sightings.Group("shop", "scheduler")) {
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("the manager never saw %s, but %+v", what, m.Sightings.Group("shop",
				"scheduler"))
		}
	}
}

func connected(names ...string) func([]Sighting) bool {
	return func(all []Sighting) bool {
		var got []string
		for _, s := range all {
			if s.Connected {
				got = append(got, s.Name)
			}
		}
		return reflect.DeepEqual(got, names)
	}
}

// sample returns a roster of a and b.
func sample(generation int64) Roster {
	return Roster{
		Namespace:  "shop",
		Group:      "scheduler",
		Generation: generation,
		Algorithm:  "Bully",
		Safety:     "Classic",
		Heartbeat:  100 * time.Millisecond,
		Timeout:    500 * time.Millisecond,
		Lease:      time.Second,
		Preemption: Delayed,
		Stable:     5 * time.Second,
		Processes: []Process{
			{
				Name:     a.Pod,
				UID:      a.UID,
				Address:  "127.0.0.1:4041",
				Priority: 1,
				Voter:    true,
				StateID:  "m1",
			},
			{Name: b.Pod, UID: b.UID, Priority: 2},
		},
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// failures is a log handler that passes on the error of each attempt that failed. It waits until
// the test has read it.
type failures struct {
	slog.Handler

	failed chan error
	over   <-chan struct{} // the test
}

func (failures) Enabled(context.Context, slog.Level) bool { return true }

func (f failures) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(attr slog.Attr) bool {
		if err, ok := attr.Value.Any().(error); ok && attr.Key == "error" {
			select {
			case f.failed <- err:
			case <-f.over:
			}
		}
		return true
	})
	return nil
}

// nowhere is where a subscription leads that is not of a connection.
type nowhere struct{}

func (nowhere) wakeUp()       {}
func (nowhere) endSoon(error) {}
