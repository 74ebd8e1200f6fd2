package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/transport"
	"github.com/podesta-dev/podesta/test/bubble"
)

// The timing of all groups here.
const heartbeat, timeout = 100 * time.Millisecond, 500 * time.Millisecond

// group is a group of agents on an in-memory network, in virtual time.
type group struct {
	ownHealth   bool // of the agents that are booted
	copies      bool // who is booted runs beside the process of that name, with a directory of its own
	t           *testing.T
	network     *transport.Network
	delay       atomic.Int64                   // of what travels, in nanoseconds
	watch       func(*process) transport.Links // in place of a process's own links; nil: these
	roster      roster.Roster
	agents      map[string]*process
	incarnation uint64

	promised map[string]lease.State // by agents that have ended
	open     func([]byte) (roster.Roster, error)
	log      slog.Handler // of all agents
	expected string       // the process whose app keeps a session
}

// process is one agent that runs.
type process struct {
	name        string
	links       transport.Links
	incarnation uint64
	views       *agent.Views
	ledger      *agent.Ledger
	meter       *agent.Meter
	accounts    *agent.Accounts
	updates     chan roster.Update
	stop        context.CancelFunc
	done        chan error
	mu          sync.Mutex
	reports     []roster.Report
	kept        []*roster.Roster
	promised    lease.State
	health      chan error
	probed      []roster.AppHealth
	full        bool          // its disk
	syncs       time.Duration // how long its disk takes
	clocks      clocks
	stands      time.Duration // for so long its loop stands still when the app's health is checked in another way
}

// newGroup starts p1 to pn with priorities 1 to n.
func newGroup(t *testing.T, algorithm string, n int) *group {
	return startGroup(t, roster.Roster{Algorithm: algorithm, Safety: roster.Classic}, n)
}

// startGroup starts p1 to pn by a roster without processes.
func startGroup(t *testing.T, r roster.Roster, n int, change ...func(*group)) *group {
	g := &group{log: slog.DiscardHandler, t: t, network: transport.NewNetwork(), agents: map[string]*process{}, promised: map[string]lease.State{}}
	g.delay.Store(int64(200 * time.Microsecond))
	g.network.Delay = func(_, _ string) time.Duration { return time.Duration(g.delay.Load()) }
	g.roster = r
	g.roster.Namespace, g.roster.Group, g.roster.Generation = "shop", "scheduler", 1
	g.roster.Heartbeat, g.roster.Timeout = heartbeat, timeout
	for i := range n {
		g.roster.Processes = append(g.roster.Processes, member(i+1))
	}
	for _, c := range change {
		c(g)
	}
	for _, p := range g.roster.Processes {
		g.boot(p.Name)
	}
	t.Cleanup(g.end)
	return g
}

func member(i int) roster.Process {
	name := fmt.Sprintf("p%d", i)
	return roster.Process{Name: name, UID: "uid-" + name, StateID: "state-" + name,
		Address: name + ":4041", Priority: int32(i), Voter: true}
}

func (g *group) boot(name string) {
	g.incarnation++
	p := &process{views: agent.NewViews(), accounts: agent.NewAccounts(), health: make(chan error), updates: make(chan roster.Update, 4), done: make(chan error, 1)}
	p.ledger = agent.NewLedger(agent.ClocksFunc(p.clocks.read))
	ctx, stop := context.WithCancel(g.t.Context())
	p.stop = stop
	g.agents[name] = p
	join, state := g.network.JoinWith, "state-"+name
	if g.copies {
		join, state = g.network.Copy, "copy-"+name
	}
	links := join(name, g.incarnation, state)
	incarnation, initial := g.incarnation, g.roster
	p.links, p.incarnation = links, incarnation
	p.meter = agent.NewMeter(p.views, p.ledger, agent.Sources{Dropped: links.Dropped})
	p.name = name
	if g.watch != nil {
		p.links = g.watch(p)
	}
	if g.expected == name {
		p.ledger.Expect()
	}
	saved := g.promised[name]
	go func() {
		p.done <- agent.Run(ctx, agent.Config{
			Self: name, UID: "uid-" + name, Incarnation: incarnation, Roster: initial, Links: p.links, Updates: p.updates, Open: g.open,
			Report: p.report, StateID: state, Version: "test",
			Saved: saved, Save: p.save, Ledger: p.ledger, Health: p.health, Probe: p.probe, OwnHealth: g.ownHealth,
			Views: p.views, Meter: p.meter, Accounts: p.accounts, Logger: slog.New(g.log).With("self", name),
		})
	}()
}

func (p *process) report(r roster.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reports = append(p.reports, r)
}

func (p *process) save(s lease.State, r *roster.Roster) error {
	p.mu.Lock()
	takes := p.syncs
	p.mu.Unlock()
	<-time.After(takes)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.full {
		return errors.New("no space left on device")
	}
	p.promised = s
	p.kept = append(p.kept, r)
	return nil
}

func (p *process) probe(h roster.AppHealth) {
	p.mu.Lock()
	p.probed = append(p.probed, h)
	stands := p.stands
	p.stands = 0
	p.mu.Unlock()
	time.Sleep(stands)
}

// virtual are the clocks of a test's bubble.
func virtual() lease.Reading {
	now := time.Duration(time.Now().UnixNano())
	return lease.Reading{Boot: now, Raw: now, Wall: now}
}

func (p *process) view() agent.View {
	v, _ := p.views.Read()
	return v
}

// kill ends a process as SIGKILL does.
func (g *group) kill(name string) {
	g.network.Kill(name)
	g.leave(name)
}

// leave ends a process as SIGTERM does.
func (g *group) leave(name string) {
	p := g.agents[name]
	delete(g.agents, name)
	p.stop()
	defer func() { g.promised[name] = p.promised }()
	if err := <-p.done; err != nil {
		g.t.Logf("%s: %v", name, err)
	}
}

func (g *group) end() {
	for name := range g.agents {
		g.kill(name)
	}
}

// edit gives every agent a roster with the next generation.
func (g *group) edit(change func(*roster.Roster)) {
	next := g.roster
	next.Processes = slices.Clone(g.roster.Processes)
	next.Generation++
	change(&next)
	g.roster = next
	for _, p := range g.agents {
		p.updates <- roster.Update{Roster: &next}
	}
}

// agree waits until every agent follows want, and returns how long that took. A failure prints the
// transcripts.
func (g *group) agree(want string) time.Duration {
	g.t.Helper()
	begun, limit := time.Now(), time.After(time.Minute)
	for name, p := range g.agents {
		for {
			v, changed := p.views.Read()
			if v.Coordinator == want && !v.Electing {
				break
			}
			select {
			case <-changed:
			case <-limit:
				g.t.Fatalf("%s follows %q, want %q\n%s", name, v.Coordinator, want, g.transcripts())
			}
		}
	}
	return time.Since(begun)
}

func (g *group) transcripts() string {
	var b strings.Builder
	for name, p := range g.agents {
		v := p.view()
		fmt.Fprintf(&b, "%s follows %q, electing %t, table %v\n", name, v.Coordinator, v.Electing, v.Processes)
		if v.Last != nil {
			fmt.Fprintf(&b, "%s\n", v.Last)
		}
	}
	return b.String()
}

// forAll runs a story with every algorithm, in virtual time.
func forAll(t *testing.T, story func(t *testing.T, algorithm string)) {
	for _, algorithm := range election.Algorithms() {
		t.Run(algorithm, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) { story(t, algorithm) })
		})
	}
}

// SIGKILL: links closed by the kernel are evidence at once, so nobody waits for T.
func TestKilledCoordinatorIsReplacedBeforeT(t *testing.T) {
	forAll(t, func(t *testing.T, algorithm string) {
		g := newGroup(t, algorithm, 5)
		g.agree("p5")
		time.Sleep(time.Second) // virtual: T is measured meanwhile
		g.kill("p5")
		if took := g.agree("p4"); took > 2*heartbeat {
			t.Errorf("the survivors agreed after %v, want less than T's lower bound", took)
		}
		for _, row := range g.agents["p1"].view().Processes {
			if row.Name == "p4" && row.State != "Coordinator" {
				t.Errorf("p1 shows %v", row)
			}
		}
		g.boot("p5")
		g.agree("p5")
	})
}

// SIGTERM: the coordinator has another one elected before it goes.
func TestLeavingCoordinatorHandsOver(t *testing.T) {
	forAll(t, func(t *testing.T, algorithm string) {
		g := newGroup(t, algorithm, 5)
		g.agree("p5")
		p5 := g.agents["p5"]
		g.leave("p5")
		if v := p5.view(); v.Coordinator != "p4" || !v.Withdrawn {
			t.Errorf("p5 left with view %q, withdrawn %t: it did not hand over to p4", v.Coordinator, v.Withdrawn)
		}
		if took := g.agree("p4"); took > heartbeat {
			t.Errorf("the others followed p4 only %v after p5 was gone", took)
		}
		if last := p5.reports[len(p5.reports)-1]; !last.Leaving || !last.Withdrawn {
			t.Errorf("the last report says leaving %t, withdrawn %t", last.Leaving, last.Withdrawn)
		}
	})
}

// A coordinator that falls silent without its links closing is found by asking, within T and a
// heartbeat; when it is back, the higher one of the two coordinators wins: partitions heal.
func TestSilentCoordinatorAndHealing(t *testing.T) {
	forAll(t, func(t *testing.T, algorithm string) {
		g := newGroup(t, algorithm, 4)
		g.agree("p4")
		time.Sleep(2 * time.Second)
		g.cut("p4", true)
		p4 := g.agents["p4"]
		delete(g.agents, "p4")
		if took := g.agree("p3"); took > 6*timeout {
			t.Errorf("agreed after %v", took)
		}
		g.agents["p4"] = p4
		g.cut("p4", false)
		g.agree("p4")
	})
}

func (g *group) cut(name string, on bool) {
	for _, p := range g.roster.Processes {
		for _, pair := range [][2]string{{name, p.Name}, {p.Name, name}} {
			if on {
				g.network.Cut(pair[0], pair[1])
			} else {
				g.network.Heal(pair[0], pair[1])
			}
		}
	}
}

// A live group takes an edit of its algorithm without an election, and elects by the new one
// afterwards.
func TestAlgorithmIsEditedOnALiveGroup(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := newGroup(t, "Bully", 5)
		g.agree("p5")
		time.Sleep(time.Second)
		for _, algorithm := range []string{"ChangRoberts", "StatusTableBully", "LeLann", "RingList", "ActiveListRing", "Bully"} {
			before := g.agents["p1"].view().Since
			g.edit(func(r *roster.Roster) { r.Algorithm = algorithm })
			time.Sleep(time.Second)
			if v := g.agents["p1"].view(); v.Coordinator != "p5" || v.Since != before || v.Algorithm != algorithm {
				t.Fatalf("after the edit to %s p1 follows %q since %v, runs %s", algorithm, v.Coordinator, v.Since, v.Algorithm)
			}
			g.kill("p5")
			g.agree("p4")
			g.boot("p5")
			g.agree("p5")
		}
	})
}

// A process that is taken off the roster, or whose group is gone, stops; it takes part again with
// the next roster.
func TestGone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := newGroup(t, "Bully", 3)
		g.agree("p3")
		p3 := g.agents["p3"]
		p3.updates <- roster.Update{Gone: true}
		delete(g.agents, "p3")
		g.agree("p2")
		if v := p3.view(); v.Name != "" || v.Coordinates() {
			t.Errorf("p3 still shows %q, coordinates %t", v.Coordinator, v.Coordinates())
		}
		synctest.Wait() // for what it still writes
		if p3.lastKept(t) != nil {
			t.Error("p3 kept its roster")
		}
		g.agents["p3"] = p3
		again := g.roster
		again.Generation = 2
		p3.updates <- roster.Update{Roster: &again}
		g.agree("p3")
	})
}

// A roster of an earlier generation, and one for another pod of the same name, are not used.
func TestRostersThatDoNotCount(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := newGroup(t, "Bully", 3)
		g.edit(func(r *roster.Roster) { r.Generation = 7 })
		g.agree("p3")
		old := g.roster
		old.Generation, old.Processes = 6, []roster.Process{member(1)}
		g.agents["p1"].updates <- roster.Update{Roster: &old}
		synctest.Wait()
		if v := g.agents["p1"].view(); v.Generation != 7 || len(v.Processes) != 3 {
			t.Errorf("p1 uses generation %d with %d processes", v.Generation, len(v.Processes))
		}
		other := g.roster
		other.Processes = slices.Clone(other.Processes)
		other.Generation, other.Processes[0].UID = 8, "uid-of-another-pod"
		g.agents["p1"].updates <- roster.Update{Roster: &other}
		synctest.Wait()
		if v := g.agents["p1"].view(); v.Name != "" {
			t.Errorf("p1 takes part with a roster of another pod: %+v", v)
		}
	})
}

// The report is the whole view, with the account of the last election.
func TestReport(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := newGroup(t, "Bully", 3)
		g.agree("p3")
		time.Sleep(time.Second)
		g.kill("p3")
		g.agree("p2")
		synctest.Wait()
		p2 := g.agents["p2"]
		p2.mu.Lock()
		defer p2.mu.Unlock()
		r := p2.reports[len(p2.reports)-1]
		if r.Coordinator != "p2" || r.StateID != "state-p2" || r.Generation != 1 || r.Electing {
			t.Errorf("reported %+v", r)
		}
		if want := []roster.Row{{Name: "p1", State: "Normal"}, {Name: "p2", State: "Coordinator"}, {Name: "p3", State: "Crashed"}}; !slices.Equal(r.Table, want) {
			t.Errorf("table %v, want %v", r.Table, want)
		}
		if e := r.LastElection; e == nil || e.Reason != "CoordinatorUnreachable" || e.Initiator != "p2" || e.Sent != 1 {
			t.Errorf("last election %+v", e)
		}
	})
}

// A member cannot bully its way up: it says in every way there is that it coordinates, and
// priorities come from the roster. (That messages come from who they say is the transport's
// business, and tested there.)
func TestForgedClaims(t *testing.T) {
	forAll(t, func(t *testing.T, algorithm string) {
		g := newGroup(t, algorithm, 4)
		g.agree("p4")
		time.Sleep(time.Second)
		rogue := g.agents["p1"]
		for sequence, kind := range []election.Kind{election.Coordinator, election.NewCoordinator, election.ElectMe, election.Elect, election.Reply, election.View, election.Election} {
			id := election.ID{Initiator: "p1", Incarnation: rogue.incarnation, Sequence: uint64(1000 + sequence)}
			for _, victim := range []string{"p2", "p3", "p4"} {
				rogue.links.Send(victim, algorithm, 0, election.Message{Kind: kind, Election: id, Process: "p1", Hops: 4, List: []string{"p1"},
					Table: []election.Entry{{Name: "p1", Status: election.Coordinates}}})
			}
		}
		time.Sleep(10 * time.Second)
		g.agree("p4")
	})
}

// MC5: a certificate that has ended is noticed by whatever happens first, not by a timer, which
// stands still while a machine is suspended.
func TestCertificateEndsWithoutATimer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		network := transport.NewNetwork()
		views, permit := agent.NewViews(), agent.NewLedger(agent.ClocksFunc(virtual))
		links, health := network.JoinWith("p1", 1, "state-p1"), make(chan error)
		updates, again := make(chan roster.Update), make(chan struct{}, 8)
		alone := roster.Roster{Namespace: "shop", Group: "scheduler", Generation: 1, Algorithm: "Bully",
			Safety: roster.Classic, Heartbeat: heartbeat, Timeout: timeout, Processes: []roster.Process{member(1)}}
		var ended atomic.Bool
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- agent.Run(ctx, agent.Config{
				Self: "p1", UID: "uid-p1", Incarnation: 1, Links: links, Views: views, Ledger: permit, Accounts: agent.NewAccounts(),
				Meter:     agent.NewMeter(views, permit, agent.Sources{Dropped: links.Dropped}),
				Roster:    alone,
				Updates:   updates,
				Again:     func() { again <- struct{}{} },
				Certified: func() bool { return !ended.Load() },
				Health:    health,
				Logger:    slog.New(slog.DiscardHandler),
			})
		}()
		synctest.Wait()
		if v, _ := views.Read(); v.Name != "p1" {
			t.Fatalf("it does not take part: %+v", v)
		}
		takesPart := func() bool {
			time.Sleep(2 * time.Second)
			synctest.Wait()
			v, _ := views.Read()
			return v.Name != ""
		}
		ended.Store(true)
		health <- nil
		health <- errors.New("the app is ill")
		synctest.Wait()
		if v, _ := views.Read(); v.Name != "" {
			t.Errorf("it takes part still: %+v", v)
		}
		if takesPart() {
			t.Error("it takes part again")
		}
		ended.Store(false) // a clock had been set ahead
		if takesPart() || len(again) != 1 {
			t.Errorf("it takes part before the manager says so, or has asked %d times", len(again))
		}
		updates <- roster.Update{Roster: &alone}
		if !takesPart() {
			t.Error("it does not take part again, though the manager has said so")
		}
		ended.Store(true)
		health <- nil
		updates <- roster.Update{Gone: true}
		ended.Store(false)
		if takesPart() || len(again) != 1 {
			t.Errorf("its group is gone, and it has asked for it %d times", len(again)-1)
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Nobody gives a process without a manager another certificate: it ends, and says what to do.
func TestWithoutAManagerACertificateIsTheLast(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		network := transport.NewNetwork()
		views, permit := agent.NewViews(), agent.NewLedger(agent.ClocksFunc(virtual))
		links, ends := network.JoinWith("p1", 1, "state-p1"), time.Now().Add(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		health := make(chan error) // the first that happens then is no Tick
		var checks sync.WaitGroup
		checks.Go(func() {
			for {
				select {
				case health <- nil:
				case <-ctx.Done():
					return
				}
				<-time.After(time.Millisecond)
			}
		})
		err := agent.Run(ctx, agent.Config{
			Self: "p1", UID: "uid-p1", Incarnation: 1, Links: links, Views: views, Ledger: permit, Accounts: agent.NewAccounts(), Meter: agent.NewMeter(views, permit, agent.Sources{Dropped: links.Dropped}),
			Roster: roster.Roster{Namespace: "shop", Group: "scheduler", Generation: 1, Algorithm: "Bully", Safety: roster.Classic,
				Heartbeat: heartbeat, Timeout: timeout, Processes: []roster.Process{member(1), member(2)}},
			Certified: func() bool { return time.Now().Before(ends) },
			Health:    health,
			Logger:    slog.New(slog.DiscardHandler),
		})
		cancel()
		checks.Wait()
		late := time.Since(ends)
		if err == nil || !strings.Contains(err.Error(), "agent keys") || late < 0 || late > heartbeat {
			t.Errorf("it ended with %v, %v after its certificate", err, late)
		}
	})
}
