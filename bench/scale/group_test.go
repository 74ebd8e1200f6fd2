package main

import (
	"log/slog"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// newSite has so many groups of three, with agents and without, on nodes of their own.
func newSite(groups, silent int) *site {
	s := &site{
		options: options{
			groups:    groups,
			silent:    silent,
			processes: 3,
		},
		byName: map[types.NamespacedName]*group{},
		tally:  &tally{changed: make(chan struct{}, 1)},
	}
	for range 3 * (groups + silent) {
		s.nodes = append(s.nodes, &node{})
	}
	return s
}

// trio is a group of three voters, as it is when all have heard of the roster.
func trio(t *testing.T) *group {
	t.Helper()
	g := newSite(1, 0).newGroups()[0]
	for _, a := range g.agents {
		a.uid = "0123456789"
		g.start(a, idle())
	}
	hear(g, 7)
	return g
}

func idle() *roster.Client {
	return roster.NewClient(roster.ClientConfig{
		Keyring: &identity.Keyring{},
		Logger:  slog.New(slog.DiscardHandler),
	})
}

func hear(g *group, generation int64) {
	r := &roster.Roster{Generation: generation}
	for _, a := range g.agents {
		r.Processes = append(r.Processes, roster.Process{Name: a.name, Voter: true})
	}
	for _, a := range g.agents {
		g.hear(a, r)
	}
}

// publish has the status show that so many processes are up.
func publish(g *group, coordinator *agent, epoch lease.Epoch, up int) {
	status := &v1.ElectionGroupStatus{
		Coordinator: &v1.CoordinatorStatus{Name: coordinator.name, Epoch: int64(epoch)},
	}
	for range up {
		status.Processes = append(status.Processes,
			v1.ProcessStatus{State: v1.ProcessNormal, Connected: new(true)})
	}
	g.show(status)
}

func wantRight(t *testing.T, g *group, right bool) {
	t.Helper()
	wrong := int64(1)
	if right {
		wrong = 0
	}
	if g.right != right || g.site.tally.wrong.Load() != wrong {
		t.Errorf("right is %v with %d wrong, want %v", g.right, g.site.tally.wrong.Load(), right)
	}
}

// A group elects when all have the roster; a failover is counted when the status shows its outcome,
// and nothing older.
func TestAFailoverIsShown(t *testing.T) {
	g := trio(t)
	first, second := g.agents[2], g.agents[1]
	if g.coordinator != first || g.epoch != lease.NewEpoch(7, 1) {
		t.Fatalf("coordinator %v under %v", g.coordinator, g.epoch)
	}
	wantRight(t, g, false)
	publish(g, first, g.epoch, 3)
	wantRight(t, g, true)
	if g.head() != first {
		t.Error("nobody may be killed")
	}
	if !g.lose(first) || g.head() != nil {
		t.Error("the coordinator was lost, and is not")
	}
	wantRight(t, g, false)
	g.win()
	if g.coordinator != second || g.epoch != lease.NewEpoch(7, 2) {
		t.Fatalf("coordinator %v under %v", g.coordinator, g.epoch)
	}
	publish(g, first, lease.NewEpoch(7, 1), 2)
	if n := len(g.site.lagging.take()); n != 0 {
		t.Errorf("%d failovers are shown before they are", n)
	}
	publish(g, second, g.epoch, 2)
	if n := len(g.site.lagging.take()); n != 1 {
		t.Errorf("%d failovers are shown, want 1", n)
	}
	wantRight(t, g, true)
	if g.head() != nil {
		t.Error("a coordinator may be killed that nobody could follow: two of three run")
	}
	g.start(first, idle())
	wantRight(t, g, false)
}

// A new generation keeps the coordinator, with the epoch that goes with it, when all have it.
func TestANewGeneration(t *testing.T) {
	g := trio(t)
	was := g.coordinator
	hear(g, 8)
	if g.coordinator != was || g.epoch != lease.NewEpoch(8, 1) {
		t.Errorf("coordinator %v under %v", g.coordinator, g.epoch)
	}
}

// Nobody waits for groups without agents, and no phase strikes them.
func TestSilentGroups(t *testing.T) {
	s := newSite(1, 2)
	all := s.newGroups()
	if len(all) != 3 || len(all[2].agents) != 3 {
		t.Fatalf("%d groups, the last one with %d pods", len(all), len(all[2].agents))
	}
	if len(s.all) != 1 || len(s.byName) != 1 || s.tally.wrong.Load() != 1 || s.agents() != 3 {
		t.Errorf("%d groups and %d agents take part", len(s.all), s.agents())
	}
}

// Without a majority nobody is elected.
func TestNoMajority(t *testing.T) {
	g := trio(t)
	g.lose(g.agents[1])
	g.lose(g.agents[2])
	g.win()
	if g.coordinator != nil {
		t.Errorf("%s coordinates without a majority", g.coordinator.name)
	}
}
