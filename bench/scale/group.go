package main

import (
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// group is what the agents of a group know together. In a real group they learn it from each other;
// here it is one variable.
type group struct {
	site            *site
	namespace, name string
	agents          []*agent

	mu          sync.Mutex
	newest      *roster.Roster // that one of the agents uses; nil: none
	coordinator *agent         // nil: none, the group elects
	electing    bool           // a failover is under way: nobody is elected before it ends
	epoch       lease.Epoch    // the last one, of the coordinator if there is one
	election    *roster.Election
	elections   int
	told        time.Time // when the reports of the last failover were handed out; zero: it is shown

	shown shown
	right bool
}

// shown is what the group's status shows.
type shown struct {
	coordinator string
	epoch       lease.Epoch
	up          int // processes that are connected, and Normal or the Coordinator
}

func newGroup(s *site, i int) *group {
	g := &group{
		site:      s,
		namespace: namespaceOf(i / perNamespace),
		name:      fmt.Sprintf("orders-%d", i),
	}
	for k := range s.processes {
		g.agents = append(g.agents, &agent{
			group:   g,
			ordinal: k,
			number:  i*s.processes + k + 1,
			name:    fmt.Sprintf("%s-%d", g.name, k),
			node:    s.nodes[i/perNode*s.processes+k],
			keyring: identity.NewKeyring(time.Now),
		})
	}
	return g
}

func podUID(a *agent) types.UID { return types.UID(a.uid) }

// start has an agent take part, by a client that may be the next one of the same process.
func (g *group) start(a *agent, client *roster.Client) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a.client == nil {
		a.incarnation++
	}
	a.client = client
	g.report(a)
	g.judge()
}

// hear has an agent use a roster. When all that run use the newest one, the coordinator gets the
// epoch that goes with it; if there is none, they elect.
func (g *group) hear(a *agent, r *roster.Roster) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a.client == nil {
		return
	}
	a.used = r
	if g.newest == nil || r.Generation > g.newest.Generation {
		g.newest = r
	}
	if g.electing || !g.united() {
		g.report(a)
		return
	}
	switch {
	case g.coordinator == nil:
		g.elect()
	case g.epoch.Generation() != g.newest.Generation:
		g.epoch = lease.NewEpoch(g.newest.Generation, 1)
	default:
		g.report(a)
		return
	}
	g.reportAll()
}

// united reports whether all agents that run use the newest roster. The lock is held, as for all
// that follow.
func (g *group) united() bool {
	for _, a := range g.agents {
		if a.client != nil && (a.used == nil || a.used.Generation != g.newest.Generation) {
			return false
		}
	}
	return true
}

// elect makes the highest voter that runs the coordinator, if a majority of the voters runs.
func (g *group) elect() {
	voters, running, highest := g.voters()
	if voters == 0 || 2*running <= voters {
		return
	}
	if g.epoch.Generation() == g.newest.Generation {
		g.epoch++
	} else {
		g.epoch = lease.NewEpoch(g.newest.Generation, 1)
	}
	g.coordinator = highest
	g.elections++
	g.election = &roster.Election{
		Decision:  fmt.Sprintf("%s/%d/%d", highest.name, highest.incarnation, g.elections),
		Initiator: highest.name,
		Reason:    "CoordinatorUnreachable",
		Sent:      2 * len(g.agents),
		Duration:  electing,
	}
}

// voters counts the voters of the newest roster, and those of them that run. Highest is the last of
// these.
func (g *group) voters() (all, running int, highest *agent) {
	for _, a := range g.agents {
		p, listed := g.newest.Find(a.name)
		if !listed || !p.Voter {
			continue
		}
		all++
		if a.client != nil {
			running++
			highest = a
		}
	}
	return all, running, highest
}

func (g *group) reportAll() {
	for _, a := range g.agents {
		if a.client != nil {
			g.report(a)
		}
	}
	g.judge()
}

// report has an agent tell the manager what the group knows, as a real one does.
func (g *group) report(a *agent) {
	r := roster.Report{
		StateID:     a.stateID(),
		Version:     g.site.version,
		Rules:       lease.Rules,
		Incarnation: a.incarnation,
		Electing:    g.coordinator == nil,
		LeaseState:  roster.LeaseElecting,
	}
	if a.used != nil {
		r.GroupUID, r.Generation, r.Signed = a.used.GroupUID, a.used.Generation, a.used.Signed
		for _, p := range a.used.Processes {
			r.Table = append(r.Table, roster.Row{Name: p.Name, State: g.stateOf(p.Name)})
		}
	}
	if g.coordinator != nil && a.used != nil {
		last := *g.election
		r.Coordinator, r.Epoch = g.coordinator.name, int64(g.epoch)
		r.LeaseState = roster.LeaseFollowing
		if g.coordinator == a {
			r.LeaseState, last.Epoch = roster.LeaseHolding, int64(g.epoch)
		}
		r.LastElection = &last
	}
	a.client.Report(r)
}

func (g *group) stateOf(name string) string {
	for _, a := range g.agents {
		switch {
		case a.name != name:
		case a.client == nil:
			return roster.Crashed
		case a == g.coordinator:
			return roster.Coordinator
		}
	}
	return roster.Normal
}

// lose ends an agent's part. It reports whether it coordinated: then the others look for another
// coordinator, until win.
func (g *group) lose(a *agent) (coordinated bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a.client = nil
	if coordinated = g.coordinator == a; coordinated {
		g.coordinator, g.electing = nil, true
	}
	g.reportAll()
	return coordinated
}

// win ends the election that lose began.
func (g *group) win() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.electing = false
	if g.coordinator == nil && g.newest != nil {
		g.elect()
	}
	g.reportAll()
	g.told = time.Now()
	g.see(g.shown) // the status may show it already, if a manager were that fast
}

// clientOf is the client of an agent that runs.
func (g *group) clientOf(a *agent) *roster.Client {
	g.mu.Lock()
	defer g.mu.Unlock()
	return a.client
}

// head is the coordinator that a failover may end; nil if there is none, if the status does not
// show it yet, or if without it no majority would run that could elect the next one.
func (g *group) head() *agent {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.right || g.electing || !g.told.IsZero() || g.coordinator == nil {
		return nil
	}
	if voters, running, _ := g.voters(); 2*(running-1) <= voters {
		return nil
	}
	return g.coordinator
}

// show takes what the status shows now.
func (g *group) show(status *v1.ElectionGroupStatus) {
	now := shown{}
	if c := status.Coordinator; c != nil {
		now.coordinator, now.epoch = c.Name, lease.Epoch(c.Epoch)
	}
	for i := range status.Processes {
		row := &status.Processes[i]
		up := row.State == v1.ProcessNormal || row.State == v1.ProcessCoordinator
		if up && row.Connected != nil && *row.Connected {
			now.up++
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.see(now)
	g.judge()
}

// see ends the wait for a failover to be shown.
func (g *group) see(now shown) {
	g.shown = now
	if g.told.IsZero() || g.coordinator == nil || now.coordinator != g.coordinator.name ||
		now.epoch != g.epoch {
		return
	}
	g.site.lagging.add(time.Since(g.told))
	g.told = time.Time{}
}

// judge counts the group as right if its status shows its coordinator, and all that run as running.
func (g *group) judge() {
	running := 0
	for _, a := range g.agents {
		if a.client != nil {
			running++
		}
	}
	right := g.coordinator != nil && g.shown == shown{g.coordinator.name, g.epoch, running}
	switch {
	case right && !g.right:
		g.site.tally.add(-1)
	case !right && g.right:
		g.site.tally.add(1)
	}
	g.right = right
}
