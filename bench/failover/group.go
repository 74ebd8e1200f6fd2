package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/hack/cluster/process"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/timing"
	"github.com/podesta-dev/podesta/test/observer"
)

// patience is how long a step may take. Then the measurement fails.
const patience = time.Minute

// plan says what group to make.
type plan struct {
	agent, binary     string // its name, and path
	network           string // of its loopback addresses, with a dot at the end
	algorithm, safety string
	profile           timing.Profile
	size              int
}

// roster of the plan: p1 to pN, the last one with the highest priority. Guarded groups keep whom
// they have: the next fault strikes whoever coordinates then, so that nobody has to wait until a
// delayed preemption has brought the highest one back.
func (p plan) roster() roster.Roster {
	r := roster.Roster{
		Namespace:    "bench",
		Group:        strings.ToLower(p.safety),
		Generation:   1,
		Algorithm:    p.algorithm,
		Safety:       p.safety,
		Heartbeat:    p.profile.Heartbeat,
		Timeout:      p.profile.Timeout,
		Lease:        p.profile.Lease,
		LeaseMinimum: p.profile.LeaseMinimum,
		Preemption:   roster.Never,
	}
	for i := range p.size {
		name := fmt.Sprintf("p%d", i+1)
		r.Processes = append(r.Processes, roster.Process{
			Name:     name,
			UID:      name,
			Address:  p.host(name) + ":4041",
			Priority: int32(i + 1),
			Voter:    true,
		})
	}
	return r
}

// host is the loopback address of a process.
func (p plan) host(name string) string {
	return p.network + strings.TrimPrefix(name, "p")
}

// group is a group of agents that run as processes on loopback addresses of their own, each with an
// app.
type group struct {
	plan
	dir      string
	names    []string
	running  map[string]*process.Process
	observer *observer.Observer
	apps     *apps
	begun    time.Time // when the first process was started
	// since then, until all agreed first on one that might act; 0: they have not
	formed time.Duration
	mended time.Time // when the last fault was over
}

var errRestless = errors.New("given up: give the machine less to do")

// patiently bounds a step.
func (g *group) patiently(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, patience, errRestless)
}

func newGroup(ctx context.Context, p plan) (*group, error) {
	dir, err := os.MkdirTemp("", "failover-")
	if err != nil {
		return nil, err
	}
	g := &group{
		plan:     p,
		dir:      dir,
		running:  map[string]*process.Process{},
		observer: observer.New(),
		apps:     newApps(p.safety == roster.Guarded),
	}
	if err := g.boot(ctx); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *group) boot(ctx context.Context) error {
	r := g.roster()
	for i := range r.Processes {
		p := &r.Processes[i]
		//nolint:gosec // the user names the program
		c := exec.CommandContext(ctx, g.binary, "init", "--state-dir", g.path("state-"+p.Name))
		id, err := c.Output()
		if err != nil {
			return fmt.Errorf("%s init: %w", g.binary, err)
		}
		p.StateID = strings.TrimSpace(string(id))
	}
	if err := os.WriteFile(g.path("roster.json"), r.Encode(), 0o600); err != nil {
		return err
	}
	//nolint:gosec // the user names the program
	keys := exec.CommandContext(ctx, g.binary, "keys", "--roster", g.path("roster.json"), "--out",
		g.dir)
	if out, err := keys.CombinedOutput(); err != nil {
		return fmt.Errorf("%s keys: %w\n%s", g.binary, err, out)
	}
	g.begun = time.Now()
	for _, p := range r.Processes {
		g.names = append(g.names, p.Name)
		if err := g.start(p.Name); err != nil {
			return err
		}
		g.apps.start(ctx, p.Name, g.app(p.Name))
	}
	return nil
}

func (g *group) path(name string) string { return filepath.Join(g.dir, name) }

// app is the address of an agent's app API.
func (g *group) app(name string) string { return g.host(name) + ":4040" }

func (g *group) start(name string) error {
	host := g.host(name)
	log, err := os.OpenFile(g.path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the agent has its own descriptor
	started, err := process.Start(process.Spec{
		Path: g.binary,
		Args: []string{g.binary, "--roster", g.path("roster.json"), "--certificate",
			g.path(name + ".crt"), "--key", g.path(name + ".key"), "--trust-file", g.path("ca.crt"),
			"--state-dir", g.path("state-" + name), "--listen", host + ":4041", "--app-address", g.app(name),
			"--status-address", host + ":4042"},
		Env:    os.Environ(),
		Output: log,
	})
	if err != nil {
		return err
	}
	g.running[name] = started
	g.observer.Watch(name, g.app(name))
	return nil
}

// ready waits until all agree on a coordinator that may act, and until that was long ago enough for
// the group to be quiet. There is no event for that: quiet is the absence of events. In a Classic
// group the highest process coordinates then.
func (g *group) ready(ctx context.Context) (coordinator string, err error) {
	ctx, cancel := g.patiently(ctx)
	defer cancel()
	highest := g.names[len(g.names)-1]
	for {
		agreed, err := g.observer.Await(ctx, g.names, func(c string) bool {
			return g.safety == roster.Guarded || c == highest
		})
		if err != nil {
			return "", err
		}
		may, err := g.apps.await(ctx, agreed.Coordinator)
		if err != nil {
			return "", err
		}
		since := slices.MaxFunc([]time.Time{agreed.At, may}, time.Time.Compare)
		if g.formed == 0 {
			g.formed = since.Sub(g.begun)
		}
		since = slices.MaxFunc([]time.Time{since, g.mended}, time.Time.Compare)
		// at any moment of a heartbeat: a fault that keeps step with the renewals finds leases of one age
		if err := g.until(ctx, since.Add(g.settling()+rand.N(g.profile.Heartbeat))); err != nil {
			return "", err
		}
		if g.still(ctx, agreed.Coordinator) == nil { // else it was not quiet yet
			return agreed.Coordinator, g.alive()
		}
	}
}

// alive fails if an agent has ended: then those of another measurement have its address, and
// answer.
func (g *group) alive() error {
	for name, p := range g.running {
		select {
		case <-p.Done():
			log, _ := os.ReadFile(g.path(name + ".log")) // used in the error only
			return fmt.Errorf("%s has ended; is something else running at %s?\n%s", name, g.host(name), log)
		default:
		}
	}
	return nil
}

// still fails unless all agree on that coordinator: a group in which that changed was not quiet.
func (g *group) still(ctx context.Context, coordinator string) error {
	now, err := g.observer.Await(ctx, g.names, nil)
	if err == nil && now.Coordinator != coordinator {
		err = fmt.Errorf("the group was not quiet: %s coordinated, and %s does now", coordinator,
			now.Coordinator)
	}
	return err
}

// settling lets a few heartbeats pass; in a Guarded group also the promises that a process makes
// nobody after its restart, and those of the votes, which are for the longest lease.
func (g *group) settling() time.Duration {
	if g.safety == roster.Guarded {
		return max(5*g.profile.Heartbeat, 2*g.profile.Lease)
	}
	return 5 * g.profile.Heartbeat
}

// until waits for an instant.
func (g *group) until(ctx context.Context, at time.Time) error {
	select {
	case <-time.After(time.Until(at)):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *group) close() {
	g.apps.close()
	g.observer.Close()
	for _, p := range g.running {
		p.Kill()
		<-p.Done()
	}
	_ = os.RemoveAll(g.dir)
}
