package roster

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// recalled is a manager that knows nothing of the group, and an agent that uses a roster which an
// earlier manager signed.
func recalled(t *testing.T, generation int64) *manager {
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
	return m
}

// MC10: an agent shows the roster that it uses when the manager asks for it, and once for each
// time.
func TestRecall(t *testing.T) {
	m := recalled(t, 7)
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
	if err := shows(t, m, sample(8)); codeOf(err) != rosterpb.Refusal_UNASKED {
		t.Errorf("it shows another one unasked: %v", err)
	}
	m.Publish(sample(9))
	if r, ok := m.Held("shop", "scheduler"); ok {
		t.Errorf("after another one was published: %+v", r)
	}
}

// shows has the manager take a roster that it has signed from agent a.
func shows(t *testing.T, m *manager, r Roster) error {
	t.Helper()
	signed, err := Sign(m.Keyring, r)
	must(t, err)
	return m.show(m.subscription(a), &rosterpb.Held{Roster: signed})
}

// subscription returns that of a process.
func (m *manager) subscription(name identity.Name) *subscription {
	m.publisher.mu.Lock()
	defer m.publisher.mu.Unlock()
	return m.publisher.groups[groupKey{name.Namespace, name.Group}].subscriptions[name.UID]
}

// An agent that shows what it was not asked for is told so, and goes on.
func TestAnUnaskedRosterIsRefused(t *testing.T) {
	m := newManager(t)
	key, cert := issue(t, m.authority, a, time.Now())
	c := m.follow(t, key, cert)
	must(t, c.send(&rosterpb.ToManager{Message: &rosterpb.ToManager_Held{}}))
	answer, err := c.receive(patience)
	must(t, err)
	if code := answer.GetShown().GetRefused().GetCode(); code != rosterpb.Refusal_UNASKED {
		t.Errorf("it is told %v", answer)
	}
	c.report(t, &rosterpb.Report{StateId: "m"})
	m.sees(t, "its report", connected(a.Pod))
}

// What an agent shows counts if the manager signed it, of its own group, and is the newest.
func TestWhatMayBeShown(t *testing.T) {
	m := recalled(t, 7)
	stranger := newManager(t) // with a CA of its own
	const taken, invalid = rosterpb.Refusal_UNKNOWN, rosterpb.Refusal_INVALID
	for name, c := range map[string]struct {
		signer *manager
		edit   func(*Roster)
		code   rosterpb.Refusal_Code
		held   int64
	}{
		"newer":                    {m, func(r *Roster) { r.Generation = 9 }, taken, 9},
		"older":                    {m, func(r *Roster) { r.Generation = 5 }, taken, 7},
		"signed by nobody we know": {stranger, func(r *Roster) { r.Generation = 9 }, invalid, 7},
		"of another group":         {m, func(r *Roster) { r.Generation, r.Group = 9, "other" }, invalid, 7},
		"of another namespace":     {m, func(r *Roster) { r.Generation, r.Namespace = 9, "other" }, invalid, 7},
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
		err = m.show(m.subscription(a), &rosterpb.Held{Roster: signed})
		if codeOf(err) != c.code || (c.code == taken) != (err == nil) {
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
