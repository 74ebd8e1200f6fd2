package roster

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// watched is an Admission of a manager whose watch shows all pods but some.
type watched struct {
	guests

	mu   sync.Mutex
	gone map[string]bool // by UID
}

func (w *watched) Present(name identity.Name) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.gone[name.UID]
}

func (w *watched) set(uid string, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[uid] = gone
}

func watchingManager(t *testing.T) (*manager, *watched) {
	t.Helper()
	w := &watched{gone: map[string]bool{}}
	return managerOf(t, w), w
}

// numbered is a pod of a group that does not exist.
func numbered(i int) identity.Name {
	return identity.Name{
		Namespace: "shop",
		Group:     "made-up",
		Pod:       fmt.Sprint("pod-", i),
		UID:       fmt.Sprint("uid-", i),
	}
}

// await waits for what the server does beside the answers that the test has got.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	again := time.NewTicker(time.Millisecond) // nobody tells
	defer again.Stop()
	for deadline := time.Now().Add(patience); !ok(); <-again.C {
		if time.Now().After(deadline) {
			t.Fatalf("the server never had %s", what)
		}
	}
}

// pods returns how many pods are connected, and sightings how many are remembered.
func (m *manager) pods() int {
	m.paces.mu.Lock()
	defer m.paces.mu.Unlock()
	n := 0
	for _, of := range m.paces.of {
		if of.connections > 0 {
			n++
		}
	}
	return n
}

func (m *manager) sightings() (n int) {
	m.Sightings.mu.Lock()
	defer m.Sightings.mu.Unlock()
	for _, g := range m.Sightings.groups {
		n += len(g.of)
	}
	return n
}

// sentAway wants an agent to be told that it is gone, and then that it may come again.
func (c *caller) sentAway(t *testing.T) {
	t.Helper()
	gone := false
	for {
		message, err := c.receive(patience)
		if err != nil {
			if !gone || codeOf(err) != rosterpb.Refusal_UNAVAILABLE {
				t.Errorf("it was sent away by %v; told that it is gone: %t", err, gone)
			}
			return
		}
		gone = gone || message.GetUpdate().GetGone() != nil
	}
}

// A tenant makes a pod, has it join, deletes it, and so on. The manager sends their agents away, also
// when they come back, and keeps nothing of them. When a pod is there again, its agent stays.
func TestPodsThatAreGoneAreSentAway(t *testing.T) {
	const pods = 3 * straysOfNamespace / 2
	m, watch := watchingManager(t)
	m.Publish(sample(1))
	m.Sightings.OnChange(func(namespace, group string) { // as a pass over a group would
		if group == "made-up" {
			m.Disband(namespace, group)
		}
	})
	spread, grace := spreadOver(m.publisher.agents()), m.Grace()
	key, cert := issue(t, m.authority, a, time.Now())
	member := m.follow(t, key, cert)
	member.report(t, &rosterpb.Report{StateId: "m"})
	come := func(i int) *caller {
		key, cert := issue(t, m.authority, numbered(i), time.Now())
		c := m.follow(t, key, cert)
		c.report(t, &rosterpb.Report{StateId: "m"})
		return c
	}
	var all []*caller
	for i := range pods {
		all = append(all, come(i))
	}
	await(t, "all reports", func() bool { return m.Sightings.Connected() == pods+1 })
	for i, c := range all {
		watch.set(numbered(i).UID, true)
		m.PodGone(numbered(i).UID)
		c.sentAway(t)
		c.close()
	}
	for i := range 3 {
		again := come(i)
		again.sentAway(t)
		again.close()
	}
	await(t, "one agent", func() bool { return m.sightings() == 1 && m.pods() == 1 })
	if n := m.publisher.agents(); n != 2 || len(m.publisher.groups) != 1 || len(m.strays.of) != 0 {
		t.Errorf("%d agents, groups %v, strays %v; want those of the roster", n, m.publisher.groups,
			m.strays.of)
	}
	if s, g := spreadOver(m.publisher.agents()), m.Grace(); s != spread || g != grace {
		t.Errorf("the return is spread over %v, with a grace of %v; want %v and %v", s, g, spread, grace)
	}
	watch.set(numbered(0).UID, false)
	back := come(0)
	defer back.close()
	await(t, "the pod that is back", func() bool { return m.Sightings.Connected() == 2 })
	must(t, member.send(&rosterpb.ToManager{Message: &rosterpb.ToManager_Ping{Ping: &rosterpb.Ping{}}}))
	for {
		message, err := member.receive(patience)
		must(t, err)
		if message.GetPong() != nil {
			return
		}
	}
}

// A pod that is gone and says nothing, or that claims a newer roster, is not told that it is gone.
// So many of a namespace stay, whether they follow or not. The others, and other namespaces, do not
// wait for them, and the time in which all would come back does not grow.
func TestPodsThatAreGoneAreBoundedByNamespace(t *testing.T) {
	for name, begin := range map[string]func(*testing.T, *caller){
		"silent": func(t *testing.T, c *caller) { must(t, c.begin()) },
		"claims a newer roster": func(t *testing.T, c *caller) {
			must(t, c.begin())
			c.report(t, &rosterpb.Report{Generation: 9, GroupUid: "this"})
		},
		"does not follow": func(*testing.T, *caller) {},
	} {
		t.Run(name, func(t *testing.T) {
			m, watch := watchingManager(t)
			made := sample(1)
			made.Group, made.GroupUID = "made-up", "this"
			m.Publish(made)
			there := m.publisher.agents()
			var all []*caller
			for i := range straysOfNamespace + 20 {
				watch.set(numbered(i).UID, true)
				key, cert := issue(t, m.authority, numbered(i), time.Now())
				c := m.dial(t, key, cert)
				must(t, c.failed)
				begin(t, c)
				all = append(all, c)
				await(t, "it", func() bool { return m.pods() >= min(i+1, straysOfNamespace) })
			}
			for _, c := range all[:20] {
				if err := c.drain(); codeOf(err) != rosterpb.Refusal_UNAVAILABLE && !errors.Is(err, io.EOF) {
					t.Errorf("one of the oldest ended by %v", err)
				}
				c.close()
			}
			await(t, "the newest", func() bool { return m.pods() == straysOfNamespace })
			await(t, "none of them among the agents", func() bool { return m.publisher.agents() == there })
			if n := m.sightings(); n > straysOfNamespace {
				t.Errorf("%d sightings", n)
			}
			elsewhere := numbered(1000)
			elsewhere.Namespace = "other"
			watch.set(elsewhere.UID, true)
			key, cert := issue(t, m.authority, elsewhere, time.Now())
			m.follow(t, key, cert)
			await(t, "one of another namespace", func() bool { return m.pods() == straysOfNamespace+1 })
		})
	}
}

// A voter whose pod was deleted may still run: it is served as long as its group lists it.
func TestAProcessOnTheRosterStaysWithoutAPod(t *testing.T) {
	m, watch := watchingManager(t)
	m.Publish(sample(1))
	g := newAgent(t, m, "a", certifiedAs(t, m, a))
	g.Report(Report{Generation: 1})
	g.run(t)
	g.next(t)
	watch.set(a.UID, true)
	m.PodGone(a.UID)
	m.Publish(sample(2))
	if u := g.next(t); u.Roster == nil || m.subscriptions.Load() != 1 || len(m.strays.of) != 0 {
		t.Errorf("it is told %+v, on subscription %d", u, m.subscriptions.Load())
	}
	m.Publish(without(3))
	if u := g.next(t); !u.Gone {
		t.Errorf("when it is off the roster, it is told %+v", u)
	}
}

// What is kept of a table depends on the roster, not on what an agent says.
func TestRowsAreBoundedByTheRoster(t *testing.T) {
	long := []Row{{Name: a.Pod, State: Normal}}
	for i := range maxRows - 2 {
		long = append(long, Row{Name: numbered(i).Pod, State: Crashed})
	}
	long = append(long, Row{Name: b.Pod, State: Crashed})
	listed := sample(1)
	for name, c := range map[string]struct {
		roster *Roster
		table  []Row
		want   []Row
	}{
		"of the roster, and a few": {&listed, long[:spareRows+2], long[:spareRows+2]},
		"long":                     {&listed, long, []Row{long[0], long[len(long)-1]}},
		"the same one many times":  {&listed, many(long[0], maxRows), many(long[0], spareRows+2)},
		"without a group":          {nil, long, nil},
	} {
		if got := rowsBy(c.roster, c.table); !reflect.DeepEqual(append([]Row(nil), got...), c.want) {
			t.Errorf("%s: %d rows are kept, want %v", name, len(got), c.want)
		}
	}
	m := newManager(t)
	key, cert := issue(t, m.authority, a, time.Now())
	first := m.follow(t, key, cert)
	rows := func() int { return len(m.Sightings.Group("shop", "scheduler")[0].Report.Table) }
	say := func(generation int64) {
		first.report(t, reportToWire(Report{Generation: generation, Table: long}))
		m.sees(t, "the report", func(all []Sighting) bool {
			return len(all) == 1 && all[0].Report.Generation == generation
		})
	}
	say(1)
	if n := rows(); n != maxRows {
		t.Errorf("before the group is known %d rows are kept", n)
	}
	m.Publish(sample(1))
	if n := rows(); n != 2 {
		t.Errorf("when it is known, %d", n)
	}
	if say(2); rows() != 2 {
		t.Errorf("of the next report %d are kept", rows())
	}
	m.Disband("shop", "scheduler")
	if n := rows(); n != 2 {
		t.Errorf("without a group %d rows are kept", n)
	}
}

func many(row Row, n int) (all []Row) {
	for range n {
		all = append(all, row)
	}
	return all
}

// Agents come, report and go. Each time Agreed says the same as a look at all of them.
func TestAgreementIsWhatAllAgentsSay(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	agreed := 0
	for range 300 {
		s := NewSightings(time.Now)
		var subscriptions []*subscription
		for i := range 4 {
			name := a
			name.Pod, name.UID = fmt.Sprint("p", i), fmt.Sprint("u", i)
			subscriptions = append(subscriptions, newSubscription(name, uint64(i), nowhere{}))
		}
		for range 40 {
			by := subscriptions[random.IntN(len(subscriptions))]
			switch random.IntN(6) {
			case 0:
				s.closed(by.name, by)
			case 1:
				s.opened(by.name, by)
			default:
				s.opened(by.name, by)
				s.reported(by.name, by, Report{
					Coordinator: fmt.Sprint("p", random.IntN(2)),
					Epoch:       int64(random.IntN(3)),
					Electing:    random.IntN(20) == 0,
				})
			}
			name, epoch, agents := s.Agreed("shop", "scheduler")
			wantName, wantEpoch, want := agreedByAll(s.Group("shop", "scheduler"))
			if name != wantName || epoch != wantEpoch || agents != want {
				t.Fatalf("%d agree on %q, %d; want %d on %q, %d: %+v", agents, name, epoch, want,
					wantName, wantEpoch, s.Group("shop", "scheduler"))
			}
			agreed += min(1, agents)
		}
	}
	if agreed < 1000 {
		t.Errorf("they agreed %d times only", agreed)
	}
}

func agreedByAll(all []Sighting) (coordinator string, epoch int64, agents int) {
	newest := &Report{}
	for i := range all {
		if all[i].Connected && all[i].Report.Epoch > newest.Epoch {
			newest = &all[i].Report
		}
	}
	for i := range all {
		r := &all[i].Report
		superseded := r.Coordinator == all[i].Name && newest.Coordinator != all[i].Name &&
			0 < r.Epoch && r.Epoch < newest.Epoch
		switch {
		case !all[i].Connected, superseded && !r.Electing:
			continue
		case r.Electing, r.Coordinator == "":
			return "", 0, 0
		case agents > 0 && r.Coordinator != coordinator, epoch != 0 && r.Epoch != 0 && r.Epoch != epoch:
			return "", 0, 0
		}
		coordinator, epoch = r.Coordinator, max(epoch, r.Epoch)
		agents++
	}
	return coordinator, epoch, agents
}

// A tenant with many pods in a group does not hold the lock for longer, which others need: Agreed
// takes as long for twenty agents as for 20,000, whatever they say.
func TestAgreementDoesNotDependOnHowManyAgentsThereAre(t *testing.T) {
	for name, says := range map[string]func(int) Report{
		"all the same":  func(int) Report { return Report{Coordinator: "p", Epoch: 7} },
		"all different": func(i int) Report { return Report{Coordinator: fmt.Sprint("p", i)} },
	} {
		takes := func(agents int) time.Duration {
			s := NewSightings(time.Now)
			for i := range agents {
				by := newSubscription(numbered(i), uint64(i), nowhere{})
				s.opened(by.name, by)
				s.reported(by.name, by, says(i))
			}
			least := time.Hour
			for range 20 { // the shortest of them was not interrupted
				begun := time.Now()
				for range 100 {
					s.Agreed("shop", "made-up")
				}
				least = min(least, time.Since(begun))
			}
			return least
		}
		if few, many := takes(20), takes(20_000); many > 50*few {
			t.Errorf("%s: 20 agents take %v, 20,000 %v", name, few, many)
		}
	}
}
