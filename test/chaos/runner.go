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
	"sync"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/chaos/report"
	"github.com/podesta-dev/podesta/test/chaos/signals"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// peace is the longest pause between two rounds of a hasty run. On the local cluster about half of
// the rounds begin before the status has caught up with the round before.
const peace = 2 * time.Second

// runner is one run.
type runner struct {
	options
	backend.Cluster

	backend backend.Backend
	full    backend.Full // the same; nil if the cluster is not full
	kinds   []faultKind  // of faults, that are drawn
	random  *rand.Rand
	begun   register.Instant
	scene   *scene
	report  report.Run
	strikes []*strike // of the present phase
	table   *table

	mu      sync.Mutex
	signals []history.Signal
	cuts    int // of the present phase
	dropped int // packets, by these
}

// newRunner makes a run on a backend. Faults that the backend cannot do are left out, which the
// report says; if one of them was asked for by name, that is an error.
func newRunner(o options, b backend.Backend, t *table) (*runner, error) {
	all := faultKinds()
	if _, err := named(all, o.faults); err != nil {
		return nil, err
	}
	full, isFull := b.(backend.Full)
	able, leftOut := within(all, isFull)
	drawn, err := named(able, o.faults)
	if err != nil {
		return nil, fmt.Errorf("--backend %s: %w", o.backend, err)
	}
	r := &runner{
		options: o,
		backend: b,
		full:    full,
		kinds:   drawn,
		random:  rand.New(rand.NewPCG(o.seed, 0)),
		begun:   register.Now(),
		scene:   newScene(),
		table:   t,
		report: report.Run{
			Seed:     o.seed,
			Begun:    time.Now().UTC().Truncate(time.Second),
			Podesta:  o.version,
			Previous: o.previousVersion,
			Backend:  o.backend,
			LeftOut:  namesOf(leftOut),
			Cores:    runtime.NumCPU(),
			Problems: []string{},
		},
	}
	if !isFull {
		r.report.LeftOut = append(r.report.LeftOut, "a Service that leads to the coordinator",
			"controllers of all kinds of workloads")
	}
	return r, nil
}

// run brings the cluster up, runs everything, and writes the report once the faults have begun,
// whatever happens then. The error says what was violated, or what did not work.
func (r *runner) run(ctx context.Context) (err error) {
	if len(r.report.LeftOut) > 0 {
		r.table.say("left out on backend %s, which cannot do it: %s", r.options.backend,
			list(r.report.LeftOut))
	}
	defer func() { err = errors.Join(err, r.backend.Down()) }()
	if r.Cluster, err = r.backend.Up(ctx); err != nil {
		return err
	}
	r.report.Kubernetes, r.report.Nodes = r.Kubernetes, r.Nodes
	following, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var followers sync.WaitGroup
	followers.Go(func() { stop(r.backend.Follow(following, r.scene.wrote)) })
	if r.full != nil {
		if err := r.mixWorkloads(following); err != nil {
			r.problem("workloads: " + err.Error())
		}
	}
	r.phases(following)
	stop(nil)
	followers.Wait()
	r.report.Seconds = register.Now().Sub(r.begun).Seconds()
	if err := r.write(); err != nil {
		return err
	}
	return r.verdict()
}

// phases runs one algorithm after another.
func (r *runner) phases(ctx context.Context) {
	share := r.duration / time.Duration(len(r.algorithms))
	for i, a := range r.algorithms {
		previous := r.previousImage != "" && i%2 == (len(r.algorithms)-1)%2
		if err := r.phase(ctx, v1.Algorithm(a), share, previous); err != nil {
			r.problem(a + ": " + err.Error())
			return // what there is until now is checked all the same
		}
	}
}

// phase runs the groups of an algorithm, strikes them, and takes them away again.
func (r *runner) phase(
	ctx context.Context, algorithm v1.Algorithm, share time.Duration, previous bool,
) (err error) {
	groups := r.groupsOf(algorithm, previous)
	namespace := groups[0].namespace
	begun := register.Now()
	defer r.watching(ctx, namespace)()
	agents := "all agents of this version"
	if previous {
		agents = "those of seven with the agents of an earlier version"
	}
	r.table.say("\n%s: %d groups, %s", algorithm, len(groups), agents)
	if err := r.create(ctx, groups); err != nil {
		return err
	}
	if err := backend.Each(groups, func(g *group) error {
		return r.settled(ctx, g, nil)
	}); err != nil {
		return fmt.Errorf("at the start: %w", err)
	}
	r.table.say("all is well after %.0f s; the faults begin", register.Now().Sub(r.begun).Seconds())
	failed := r.rounds(ctx, groups, share)
	if failed == nil && previous { // the upgrade
		upgrade, err := named(faultKinds(), []string{rollingRestart})
		if err != nil {
			return err
		}
		failed = r.round(ctx, groups, round{{faultKind: upgrade[0]}}, false)
	}
	ending := context.WithoutCancel(ctx)
	err = errors.Join(failed, r.conclude(ending, groups, begun))
	if failed == nil { // else it stays as it is, to be looked at
		err = errors.Join(err, r.backend.Clear(ending, namespace))
	}
	return err
}

// rounds plays rounds until there were enough, or their time is over. The last ends with all well.
func (r *runner) rounds(ctx context.Context, groups []*group, share time.Duration) error {
	next := opening(r.kinds)
	if next == nil {
		next = draw(r.random, r.kinds)
	}
	begun, played := register.Now(), 0
	for n := 1; ctx.Err() == nil; n++ {
		if r.options.rounds > 0 && n > r.options.rounds ||
			r.options.rounds == 0 && register.Now().Sub(begun) >= share {
			break
		}
		hasty := r.options.backend == onLocal
		if err := r.round(ctx, groups, next, hasty && r.random.IntN(2) == 0); err != nil {
			return err
		}
		if hasty { // a moment's peace
			signals.Wait(ctx, time.Duration(r.random.Int64N(int64(peace))))
		}
		next = draw(r.random, r.kinds)
		played++
	}
	if played == 0 && ctx.Err() == nil {
		return errors.New("no round was played: --duration is too short")
	}
	return errors.Join(context.Cause(ctx), backend.Each(groups, func(g *group) error {
		return r.settled(ctx, g, nil)
	}))
}

// create makes the groups of a phase and their pods.
func (r *runner) create(ctx context.Context, groups []*group) error {
	if err := r.ApplyObject(ctx, backend.Namespace(groups[0].namespace)); err != nil {
		return err
	}
	for _, g := range groups {
		if err := r.ApplyObject(ctx, g.election()); err != nil {
			return err
		}
		for _, s := range g.sets(r.Cluster) {
			if err := r.backend.Apply(ctx, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// watching has the scene show a namespace until stop is called.
func (r *runner) watching(ctx context.Context, namespace string) (stop func()) {
	r.scene.clear()
	ctx, cancel := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	watchers.Go(func() { r.scene.watch(ctx, r.Stage, namespace) })
	return func() {
		cancel()
		watchers.Wait()
	}
}

// conclude gathers what the groups of a phase have left, and checks everything.
func (r *runner) conclude(ctx context.Context, groups []*group, begun register.Instant) error {
	end := register.Now()
	h, err := r.gather(ctx, groups[0].namespace, end)
	if err != nil {
		return err
	}
	for _, s := range r.strikes {
		r.report.Strikes = append(r.report.Strikes, s.Strike)
	}
	opened := len(r.strikes) > 0 && r.strikes[0].Fault == pausePod
	r.strikes = nil
	refused, guarded := 0, 0
	for _, g := range groups {
		check := h.Classic
		if g.safety == v1.Guarded {
			check = h.Guarded
		}
		done := report.Group{
			Name:      g.name,
			Algorithm: string(g.algorithm),
			Safety:    string(g.safety),
			Processes: g.size,
			Witness:   g.witness,
			Seconds:   end.Sub(begun).Seconds(),
			Became:    check(g.name),
		}
		r.report.Groups = append(r.report.Groups, done)
		for _, nothing := range untried(h, g.name, done.Became) {
			r.problem(g.name + ": " + nothing)
		}
		for _, v := range done.Became.Violations {
			r.problem(fmt.Sprintf("%s: %s: %s", g.name, v.Rule, v.Text))
		}
		if g.safety == v1.Guarded {
			for _, back := range r.scene.reversals(g.name) {
				r.problem(g.name + ": " + back)
			}
			guarded++
			refused += done.Became.Writes.Refused
		}
		r.table.became(done)
	}
	if problem := r.idleCuts(); problem != "" {
		r.problem(string(groups[0].algorithm) + ": " + problem)
	}
	if guarded > 0 && opened && refused == 0 {
		r.problem(string(groups[0].algorithm) + ": no stale write was refused: this phase has not " +
			"tried what it is for")
	}
	return nil
}

func (r *runner) write() error {
	text, err := json.MarshalIndent(r.report, "", " ")
	if err != nil {
		return err
	}
	file := r.options.report
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil { //nolint:gosec // the user says so
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o600) //nolint:gosec // the user says so
}
