// Command chaos runs groups on a cluster, as a user installs them, and does to them what clusters
// do: kills, pauses, cut networks, lost nodes, drains, rolling restarts, no API server, no manager,
// a new certificate authority. In every pod an app writes to a fenced register whenever its agent
// says that it may. After each fault it measures how long it took until somebody acted, until the
// agents agreed, and until status and Service said so; at the end the register's log, the apps'
// traces and the agents' logs are checked: in Guarded groups no two apps were told at once that
// they may act, and epochs never went back. Classic groups suffer the same faults, and what became
// of them is reported beside.
//
//	make chaos          on a kind cluster of several nodes (Docker)
//	make chaos-local    on the local cluster: no root, no Docker, and fewer faults
//
// It is run in the root of the source tree, with what `make` has built.
//
// The faults are drawn from a seed that is printed; when they strike depends on the machine, so a
// seed repeats the faults and not the run. What the backend cannot do is left out, and the report
// says so.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/chaos/kind"
	"github.com/podesta-dev/podesta/test/chaos/local"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		stop()
		os.Exit(1)
	}
}

// The backends.
const (
	onKind  = "kind"
	onLocal = "local"
)

// nodeProgram is what strikes in the nodes.
const nodeProgram = "bin/chaos-node"

type options struct {
	backend string
	// of the run
	algorithms     []string
	phases, rounds int
	duration       time.Duration
	faults         []string
	seed           uint64
	report, state  string
	// of this program's surroundings
	cluster, kubeconfig      string
	manifests                []string
	registerImage            string
	previousImage            string
	version, previousVersion string
}

var all = []string{
	string(v1.Bully), string(v1.StatusTableBully), string(v1.LeLann),
	string(v1.ChangRoberts), string(v1.RingList), string(v1.ActiveListRing),
}

func parse(args []string) (options, error) {
	var o options
	f := pflag.NewFlagSet("chaos", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&o.backend, "backend", onKind, "cluster to run on: kind or local")
	f.StringSliceVar(&o.algorithms, "algorithms", all,
		"algorithms, one after another, each with groups of its own (local: Bully)")
	f.IntVar(&o.phases, "phases", 0,
		"run only this many of the algorithms, drawn from the seed (0: all, in order)")
	f.IntVar(&o.rounds, "rounds", 0, "rounds for each algorithm (0: until --duration is over)")
	f.DurationVar(&o.duration, "duration", 30*time.Minute,
		"how long all faults together take, about")
	f.StringArrayVar(&o.faults, "fault", nil,
		"draw only this kind of fault; may be given more than once (default all)")
	f.Uint64Var(&o.seed, "seed", rand.Uint64(), "what the faults are drawn from")
	f.StringVar(&o.report, "report", "",
		"file for the report, as JSON (default report.json in --dir)")
	f.StringVar(&o.state, "dir", "", "directory for logs and traces, which stays (default a new one; "+
		"local: that goes if all is well)")
	f.StringVar(&o.cluster, "cluster", "podesta-chaos",
		"kind: name of the cluster; everything on it is this run's")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kind: kubeconfig file of the cluster")
	f.StringSliceVar(&o.manifests, "manifest", nil,
		"kind: file to install; several are installed in this order")
	f.StringVar(&o.registerImage, "register-image", "podesta-dev/register:chaos",
		"kind: image of the register and its writers, on the nodes")
	f.StringVar(&o.previousImage, "previous-image", "",
		"kind: image of earlier agents, on the nodes; some groups begin with them")
	f.StringVar(&o.version, "version", "unknown", "Podesta's version, for the report")
	f.StringVar(&o.previousVersion, "previous-version", "",
		"version of the earlier agents, for the report")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.backend == onLocal && !f.Changed("algorithms") {
		o.algorithms = []string{string(v1.Bully)}
	}
	return o, o.check()
}

// check says which options are wrong.
func (o options) check() error {
	for _, a := range o.algorithms {
		if !slices.Contains(all, a) {
			return fmt.Errorf("--algorithms %q: must be among %v", a, all)
		}
	}
	switch {
	case o.backend != onKind && o.backend != onLocal:
		return fmt.Errorf("--backend %q: must be %s or %s", o.backend, onKind, onLocal)
	case o.backend == onKind && (o.kubeconfig == "" || len(o.manifests) == 0):
		return errors.New("--kubeconfig and --manifest are needed: `make chaos` gives them")
	case len(o.algorithms) == 0:
		return errors.New("--algorithms: needs a value")
	case o.phases < 0 || o.phases > len(o.algorithms):
		return fmt.Errorf("--phases %d: must be between 0 and the number of algorithms, %d", o.phases,
			len(o.algorithms))
	}
	return nil
}

// directory makes the directory of a run; without a name, one that nobody else uses.
func directory(name string) (string, error) {
	if name == "" {
		return os.MkdirTemp("", "podesta-chaos-")
	}
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return name, os.MkdirAll(name, 0o750)
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	keep := o.state != "" || o.backend == onKind
	if o.state, err = directory(o.state); err != nil {
		return err
	}
	if o.report == "" {
		o.report = filepath.Join(o.state, "report.json")
	}
	// what was done to the nodes, and when
	actions, err := os.Create(filepath.Join(o.state, "actions.log"))
	if err != nil {
		return err
	}
	defer actions.Close() //nolint:errcheck // nothing hangs on it
	slog.SetDefault(slog.New(slog.NewTextHandler(actions, nil)))
	t := &table{out: os.Stdout}
	r, err := newRunner(o, o.newBackend(t), t)
	if err != nil {
		return err
	}
	r.drawPhases()
	t.say("chaos: backend %s, seed %d, %v, lease %v to %v", o.backend, o.seed, r.algorithms,
		shortestLease, longestLease)
	err = r.run(ctx)
	if err == nil && !keep {
		return os.RemoveAll(o.state)
	}
	t.say("chaos: logs and traces are in %s, the report is %s", o.state, o.report)
	return err
}

// newBackend makes what the options name.
func (o options) newBackend(t *table) backend.Backend {
	if o.backend == onLocal {
		return local.New(local.Options{
			Repository: ".",
			Dir:        o.state,
			Program:    nodeProgram,
		})
	}
	return kind.New(kind.Options{
		Name:          o.cluster,
		Kubeconfig:    o.kubeconfig,
		Manifests:     o.manifests,
		Image:         o.registerImage,
		PreviousImage: o.previousImage,
		Program:       nodeProgram,
		Dir:           o.state,
		Say:           t.say,
	})
}

// drawPhases draws the algorithms, if not all of them run.
func (r *runner) drawPhases() {
	if r.options.phases == 0 {
		return
	}
	var drawn []string
	for _, i := range r.random.Perm(len(r.algorithms))[:r.options.phases] {
		drawn = append(drawn, r.algorithms[i])
	}
	r.algorithms = drawn
}
