package roster

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// recalled is a manager that knows nothing of the group, and an agent that uses a roster which an
// earlier manager signed.
func recalled(t *testing.T, generation int64) (*manager, *agent) {
	t.Helper()
	m := newManager(t)
	r := sample(generation)
	r.Namespace, r.Group = "shop", "scheduler"
	signed, err := Sign(m.Keyring, r)
	must(t, err)
	g := newAgent(t, m, "a").run(t)
	go func() { // it takes all updates
		for {
			select {
			case <-g.updates:
			case <-t.Context().Done():
				return
			}
		}
	}()
	g.Report(Report{StateID: "m", Generation: generation, Signed: signed})
	m.sees(t, "the agent", func(all []Sighting) bool { return len(all) == 1 && all[0].Connected })
	return m, g
}

// MC10: an agent shows the roster that it uses when the manager asks for it, and once for each
// time.
func TestRecall(t *testing.T) {
	m, g := recalled(t, 7)
	if _, ok := m.Held("shop", "scheduler"); ok {
		t.Error("a roster was shown that nobody asked for")
	}
	held := func(generation int64) func([]Sighting) bool {
		return func([]Sighting) bool {
			r, ok := m.Held("shop", "scheduler")
			return ok && r.Generation == generation
		}
	}
	m.Recall("shop", "scheduler")
	m.sees(t, "the roster that the agent uses", held(7))
	if err := g.shows(t, m, sample(8)); status.Code(err) != codes.FailedPrecondition {
		t.Errorf("it shows another one unasked: %v", err)
	}
	m.Publish(sample(9))
	if r, ok := m.Held("shop", "scheduler"); ok {
		t.Errorf("after another one was published: %+v", r)
	}
}

// shows has the agent call Show with a roster that the manager signed.
func (g *agent) shows(t *testing.T, m *manager, r Roster) error {
	t.Helper()
	r.Namespace, r.Group = "shop", "scheduler"
	signed, err := Sign(m.Keyring, r)
	must(t, err)
	return g.call(t, signed)
}

func (g *agent) call(t *testing.T, signed []byte) error {
	t.Helper()
	conn, err := g.connect(t.Context(), g.Keyring)
	must(t, err)
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err = rosterpb.NewRosterServiceClient(conn).Show(ctx, &rosterpb.Held{Roster: signed})
	return err
}

// What an agent shows counts if the manager signed it, of its own group, and is the newest.
func TestWhatMayBeShown(t *testing.T) {
	m, g := recalled(t, 7)
	stranger := newManager(t) // with a CA of its own
	for name, c := range map[string]struct {
		signer *manager
		edit   func(*Roster)
		code   codes.Code
		held   int64
	}{
		"newer":                      {m, func(r *Roster) { r.Generation = 9 }, codes.OK, 9},
		"older":                      {m, func(r *Roster) { r.Generation = 5 }, codes.OK, 7},
		"signed by nobody we know":   {stranger, func(r *Roster) { r.Generation = 9 }, codes.InvalidArgument, 7},
		"of another group":           {m, func(r *Roster) { r.Generation, r.Group = 9, "other" }, codes.InvalidArgument, 7},
		"of a group of another name": {m, func(r *Roster) { r.Generation, r.Namespace = 9, "other" }, codes.InvalidArgument, 7},
	} {
		m.Disband("shop", "scheduler") // a new question
		m.Recall("shop", "scheduler")
		m.sees(t, "what the agent shows by itself", func([]Sighting) bool {
			r, ok := m.Held("shop", "scheduler")
			return ok && r.Generation == 7
		})
		m.publisher.ask(a.UID)
		r := sample(7)
		r.Namespace, r.Group = "shop", "scheduler"
		c.edit(&r)
		signed, err := Sign(c.signer.Keyring, r)
		must(t, err)
		if err := g.call(t, signed); status.Code(err) != c.code {
			t.Errorf("%s: %v, want %v", name, err, c.code)
		}
		if r, ok := m.Held("shop", "scheduler"); !ok || r.Generation != c.held {
			t.Errorf("%s: held %d, want %d", name, r.Generation, c.held)
		}
	}
}

// ask takes note that the subscription of a pod was asked once more.
func (p *publisher) ask(uid string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.groups {
		if s := n.subscriptions[uid]; s != nil {
			s.mayShow.Store(true)
		}
	}
}

// A roster keeps its longest lease on its way, for the manager that adopts it.
func TestSignedRosterHasTheLongestLease(t *testing.T) {
	m := newManager(t)
	r := sample(3)
	r.LongestLease = 7 * time.Second
	signed, err := Sign(m.Keyring, r)
	must(t, err)
	if got, err := Open(m.Keyring, signed); err != nil || got.LongestLease != 7*time.Second {
		t.Errorf("got %v, %v", got.LongestLease, err)
	}
}
