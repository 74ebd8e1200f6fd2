package envtest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster"
)

// Agent is a pod's end of the protocol: a real client. What it reports is scripted, but that it
// acknowledges rosters, as an agent does.
type Agent struct {
	Pod     *corev1.Pod
	Keyring *identity.Keyring
	Client  *roster.Client
	Stop    func()
	// OnNews, if there is one, is called with each update before anything else happens.
	OnNews func(roster.Update)

	mu sync.Mutex
	// The lock is held for these, also by tests that only read them: see Look, Awaits and Change.
	Report roster.Report
	Joins  int         // with a token
	Kept   [][2]string // certificate (empty if unchanged) and trust, in the order in which they came
	News   []roster.Update
	Moved  *roster.MovedError // ended it; nil: nothing has, but Stop
	change chan struct{}      // closed and replaced with each change
}

// Join starts the agent of a pod. Its trust is what the manager writes into the pod's namespace.
// Edit changes it before: it fills its keyring, say, as an earlier start of it has.
func (s *Server) Join(t *testing.T, address string, pod *corev1.Pod, edit ...func(*Agent)) *Agent {
	t.Helper()
	a := &Agent{
		Pod:     pod,
		Keyring: identity.NewKeyring(time.Now),
		Report: roster.Report{
			StateID:     "state-" + string(pod.UID)[:8],
			Incarnation: 1,
			Electing:    true,
		},
		change: make(chan struct{}),
	}
	for _, e := range edit {
		e(a)
	}
	jwt := s.Token(t, pod, v1.Audience, true)
	a.Client = roster.NewClient(roster.ClientConfig{
		Address: address,
		Token: func() (string, error) {
			a.note(func() { a.Joins++ })
			return jwt, nil
		},
		Trust:   func() ([]byte, error) { return s.MountedTrust(pod.Namespace) },
		Keyring: a.Keyring,
		Boot:    func() time.Duration { return 0 },
		Keep: func(cert, _, trust []byte, _ time.Duration) error {
			a.note(func() { a.Kept = append(a.Kept, [2]string{string(cert), string(trust)}) })
			return nil
		},
		Logger: slog.New(slog.DiscardHandler),
	})
	a.Client.Report(a.Report)
	ctx, cancel := context.WithCancel(bg)
	updates, done := make(chan roster.Update), make(chan error, 1)
	go func() {
		err := a.Client.Run(ctx, updates)
		if moved := (*roster.MovedError)(nil); errors.As(err, &moved) {
			a.note(func() { a.Moved = moved })
			err = nil
		}
		done <- err
	}()
	go a.listen(ctx, updates)
	a.Stop = sync.OnceFunc(func() {
		cancel()
		Must(t, <-done)
	})
	t.Cleanup(a.Stop)
	return a
}

func (a *Agent) listen(ctx context.Context, updates <-chan roster.Update) {
	for {
		select {
		case u := <-updates:
			if a.OnNews != nil {
				a.OnNews(u)
			}
			a.Change(func() {
				a.News = append(a.News, u)
				a.use(u.Roster)
			})
		case <-ctx.Done():
			return
		}
	}
}

// use reports a roster as the one in use; nil: none.
func (a *Agent) use(r *roster.Roster) {
	if r == nil {
		r = &roster.Roster{}
	}
	a.Report.GroupUID, a.Report.Generation, a.Report.Signed = r.GroupUID, r.Generation, r.Signed
}

func (a *Agent) note(change func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change()
	close(a.change)
	a.change = make(chan struct{})
}

// Change changes the report and sends it.
func (a *Agent) Change(change func()) {
	a.note(func() {
		change()
		a.Client.Report(a.Report)
	})
}

// Look reads what the agent has seen.
func (a *Agent) Look(look func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	look()
}

// Awaits waits until something is so of the agent.
func (a *Agent) Awaits(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(Patience)
	for {
		a.mu.Lock()
		so, change := holds(), a.change
		a.mu.Unlock()
		if so {
			return
		}
		select {
		case <-change:
		case <-deadline:
			t.Fatalf("%s: waited %v for %s", a.Pod.Name, Patience, what)
		}
	}
}

// Hears waits for an update, which may have come already: what it is known by must be new. See
// Heard.
func (a *Agent) Hears(t *testing.T, what string, ok func(roster.Update) bool) {
	t.Helper()
	a.HearsAfter(t, 0, what, ok)
}

// Heard is how many updates have come so far.
func (a *Agent) Heard() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.News)
}

// HearsAfter is Hears for an update that comes after so many that were Heard before.
func (a *Agent) HearsAfter(t *testing.T, heard int, what string, ok func(roster.Update) bool) {
	t.Helper()
	a.Awaits(t, what, func() bool { return slices.ContainsFunc(a.News[heard:], ok) })
}

// Follows waits until the agent has heard a roster with itself on it.
func (a *Agent) Follows(t *testing.T) {
	t.Helper()
	a.Awaits(t, "a roster with itself on it", func() bool {
		newest := a.Newest()
		return newest != nil && newest.Has(a.Pod.Name, string(a.Pod.UID))
	})
}

// Newest is the roster that the agent heard last; nil if that was that there is none for it. The
// caller holds the lock.
func (a *Agent) Newest() *roster.Roster {
	if len(a.News) == 0 {
		return nil
	}
	return a.News[len(a.News)-1].Roster
}

// Trust is the bundle that the manager told it last. The caller holds the lock.
func (a *Agent) Trust() string {
	if len(a.Kept) == 0 {
		return ""
	}
	return a.Kept[len(a.Kept)-1][1]
}
