package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/chaos/timeline"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
	"github.com/podesta-dev/podesta/test/stage"
)

// runner is one run.
type runner struct {
	options
	*stage.Stage
	random      *rand.Rand
	begun       register.Instant
	nodes       nodes
	scene       *scene
	registerURL string
	cuts        atomic.Int64 // so far; their tables are named by it
	report      report.Run
	strikes     []*strike // of the present phase
	table       *table

	mu      sync.Mutex
	signals []history.Signal
}

func newRunner(o options, random *rand.Rand) *runner {
	return &runner{options: o, random: random, begun: register.Now(), scene: newScene(), table: &table{out: os.Stdout},
		report: report.Run{Seed: o.seed, Begun: time.Now().UTC().Truncate(time.Second), Podesta: o.version, Previous: o.previousVersion, Cores: runtime.NumCPU(),
			LeaseMilliseconds: leaseTime.Milliseconds(), Problems: []string{}}}
}

// run runs everything, and writes the report once the faults have begun, whatever happens then. The error says what was violated, or what did not work.
func (r *runner) run(ctx context.Context) error {
	if err := r.setUp(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var following sync.WaitGroup
	following.Go(func() {
		cancel(follow(ctx, r.nodes.control, nodeDir+"/register/register.jsonl", func(line []byte) error {
			var e register.Entry
			err := json.Unmarshal(line, &e)
			r.scene.wrote(e)
			return err
		}))
	})
	share := r.duration / time.Duration(len(r.algorithms))
	if r.workloads {
		if err := r.mixWorkloads(ctx); err != nil {
			r.problem("workloads: " + err.Error())
		}
	}
	var problem error
	for i, a := range r.algorithms {
		if problem = r.phase(ctx, v1.Algorithm(a), share, r.previousImage != "" && i%2 == (len(r.algorithms)-1)%2); problem != nil {
			r.problem(a + ": " + problem.Error())
			break // what there is until now is checked all the same
		}
	}
	cancel(nil)
	following.Wait()
	r.report.Seconds = register.Now().Sub(r.begun).Seconds()
	if err := r.write(); err != nil {
		return err
	}
	return r.response()
}

// phase runs the four groups of an algorithm, strikes them, and takes them away again.
func (r *runner) phase(ctx context.Context, algorithm v1.Algorithm, share time.Duration, previous bool) (err error) {
	groups := groupsOf(algorithm, previous)
	begun := register.Now()
	defer r.watching(ctx, groups[0].namespace)()
	r.table.say("\n%s: %d groups, %s", algorithm, len(groups), begins(previous))
	if err := r.create(ctx, groups); err != nil {
		return err
	}
	if err := each(groups, func(g *group) error { return r.settled(ctx, g, nil) }); err != nil {
		return fmt.Errorf("at the start: %w", err)
	}
	r.table.head(register.Now().Sub(r.begun))
	faultsBegun := register.Now()
	var failed error
	for n := 1; failed == nil && ctx.Err() == nil; n++ {
		if r.rounds > 0 && n > r.rounds || r.rounds == 0 && register.Now().Sub(faultsBegun) >= share {
			break
		}
		failed = r.round(ctx, groups, draw(r.random, r.kinds))
	}
	if failed == nil && previous { // the upgrade
		failed = r.round(ctx, groups, round{{kind: kindNamed(rollingRestart)}})
	}
	ending := context.WithoutCancel(ctx)
	err = errors.Join(failed, r.conclude(ending, groups, begun))
	if failed == nil { // else it stays as it is, to be looked at
		err = errors.Join(err, r.remove(ending, namespaceOf(groups[0].namespace)), r.sweep(ending))
	}
	return err
}

// watching has the scene show a namespace until stop is called.
func (r *runner) watching(ctx context.Context, namespace string) (stop func()) {
	r.scene.clear()
	ctx, cancel := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	watchers.Go(func() { r.scene.watch(ctx, r.WithWatch, namespace) })
	return func() {
		cancel()
		watchers.Wait()
	}
}

func begins(previous bool) string {
	if previous {
		return "those of seven with the agents of an earlier version"
	}
	return "all of this version"
}

// conclude gathers what the groups of a phase have left, completes the strikes from the agents' logs, and checks everything.
func (r *runner) conclude(ctx context.Context, groups []*group, begun register.Instant) error {
	end := register.Now()
	h, followed, err := r.gather(ctx, groups, end)
	if err != nil {
		return err
	}
	for _, s := range r.strikes {
		if s.OK && s.Changed() {
			s.Times.Agreed = timeline.Agreed(followed[s.Group], s.span, s.First, r.hitIn(s))
		}
		r.report.Strikes = append(r.report.Strikes, s.Strike)
	}
	r.strikes = nil
	for _, g := range groups {
		became := h.Classic
		if g.safety == v1.Guarded {
			became = h.Guarded
		}
		done := report.Group{Name: g.name, Algorithm: string(g.algorithm), Safety: string(g.safety), Processes: g.size,
			Seconds: end.Sub(begun).Seconds(), Became: became(g.name)}
		r.report.Groups = append(r.report.Groups, done)
		for _, v := range done.Became.Violations {
			r.problem(fmt.Sprintf("%s: %s: %s", g.name, v.Rule, v.Text))
		}
		if g.safety == v1.Guarded && done.Became.Held == 0 {
			r.problem(g.name + ": the agents' logs tell of no lease")
		}
		r.table.became(done)
	}
	return nil
}

// hitIn tells which pods the faults of a strike's round hit, or made anew: they do not count for how fast the others agreed.
func (r *runner) hitIn(s *strike) func(pod string) bool {
	return func(pod string) bool {
		for _, other := range r.strikes {
			if other.Round == s.Round && other.Group == s.Group && (other.Victim == pod || slices.Contains(other.away, pod)) {
				return true
			}
		}
		return false
	}
}

// problem notes what must not be.
func (r *runner) problem(what string) {
	r.report.Problems = append(r.report.Problems, what)
}

func (r *runner) write() error {
	text, err := json.MarshalIndent(r.report, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.options.report), 0o750); err != nil { //nolint:gosec // the user says where
		return err
	}
	return os.WriteFile(r.options.report, append(text, '\n'), 0o600) //nolint:gosec // likewise
}

// response prints the sum, and returns what must not be as an error.
func (r *runner) response() error {
	r.table.sum(r.report)
	r.table.say("the report is in %s", r.options.report)
	var errs []error
	for _, p := range r.report.Problems {
		errs = append(errs, errors.New(p))
	}
	return errors.Join(errs...)
}
