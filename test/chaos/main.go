// Command chaos runs groups on a kind cluster of several nodes, as a user installs them, and does to them what clusters do: kills,
// pauses, cut networks, lost nodes, drains, rolling restarts, no API server, no manager, a new certificate authority. In every pod
// an app writes to a fenced register whenever its agent says that it may. After each fault it measures how long it took until
// somebody acted, until the agents agreed, and until status and Service told so; at the end the register's log, the apps' traces
// and the agents' logs are checked.
//
//	make chaos
//
// The faults are drawn from a seed that is printed; when they strike depends on the machine, so a seed repeats the faults and not
// the run. It needs Docker, and Kubernetes 1.36 (the sidecars are injected by a policy). The nodes must share this machine's
// kernel, and so its clock: Docker on Linux.
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

type options struct {
	cluster, kubeconfig string
	manifests           []string
	registerImage       string
	previousImage       string
	node                string
	report              string
	state               string
	algorithms          []string
	phases              int
	rounds              int
	duration            time.Duration
	workloads           bool
	seed                uint64
	version             string
	previousVersion     string
	faults              []string
	kinds               []kind // of these names
}

var all = []string{string(v1.Bully), string(v1.StatusTableBully), string(v1.LeLann), string(v1.ChangRoberts), string(v1.RingList), string(v1.ActiveListRing)}

func parse(args []string) (options, error) {
	var o options
	f := pflag.NewFlagSet("chaos", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&o.cluster, "cluster", "podesta-chaos", "name of the kind cluster; everything on it is this run's")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "its kubeconfig file")
	f.StringSliceVar(&o.manifests, "manifest", nil, "what is installed, in this order")
	f.StringVar(&o.registerImage, "register-image", "podesta-dev/register:chaos", "image of the register and its writers, on the nodes")
	f.StringVar(&o.previousImage, "previous-image", "", "image of earlier agents, on the nodes: part of the groups begin with them")
	f.StringVar(&o.node, "node", "bin/chaos-node", "program that is put into the nodes")
	f.StringVar(&o.report, "report", "", "file that the report is written to, as JSON (default report.json in --dir)")
	f.StringVar(&o.state, "dir", "", "directory for logs and traces (default a new one)")
	f.StringSliceVar(&o.algorithms, "algorithms", all, "the algorithms, one after another, each with four groups")
	f.IntVar(&o.phases, "phases", 0, "run only so many of the algorithms, drawn from the seed (0: all, in order)")
	f.StringArrayVar(&o.faults, "fault", nil, "draw only this kind of fault; may be given more than once (default all)")
	f.IntVar(&o.rounds, "rounds", 0, "rounds for each algorithm (0: until --duration is over)")
	f.DurationVar(&o.duration, "duration", 30*time.Minute, "how long all faults together take, about")
	f.BoolVar(&o.workloads, "workloads", true, "before the faults, bring up groups whose pods all kinds of workloads make, and roll them")
	f.Uint64Var(&o.seed, "seed", rand.Uint64(), "what the faults are drawn from")
	f.StringVar(&o.version, "version", "unknown", "of Podesta, for the report")
	f.StringVar(&o.previousVersion, "previous-version", "", "of the earlier agents, for the report")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for _, a := range o.algorithms {
		if !slices.Contains(all, a) {
			return o, fmt.Errorf("--algorithms %q: must be among %v", a, all)
		}
	}
	if o.kubeconfig == "" || len(o.manifests) == 0 {
		return o, errors.New("--kubeconfig and --manifest are needed: `make chaos` gives them")
	}
	if o.phases < 0 || o.phases > len(o.algorithms) {
		return o, fmt.Errorf("--phases %d: must be between 0 and the number of algorithms, %d", o.phases, len(o.algorithms))
	}
	var err error
	o.kinds, err = kindsNamed(o.faults)
	return o, err
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.state == "" {
		if o.state, err = os.MkdirTemp("", "podesta-chaos-"); err != nil {
			return err
		}
	}
	if o.state, err = filepath.Abs(o.state); err != nil {
		return err
	}
	if o.report == "" {
		o.report = filepath.Join(o.state, "report.json")
	}
	actions, err := os.Create(filepath.Join(o.state, "actions.log")) // what was done to the nodes, and when
	if err != nil {
		return err
	}
	defer actions.Close() //nolint:errcheck // nothing hangs on it
	slog.SetDefault(slog.New(slog.NewTextHandler(actions, nil)))
	random := rand.New(rand.NewPCG(o.seed, 0))
	if o.phases > 0 {
		order := random.Perm(len(o.algorithms))[:o.phases]
		drawn := make([]string, 0, o.phases)
		for _, i := range order {
			drawn = append(drawn, o.algorithms[i])
		}
		o.algorithms = drawn
	}
	fmt.Printf("chaos: seed %d, %v, logs and traces in %s\n", o.seed, o.algorithms, o.state)
	return newRunner(o, random).run(ctx)
}
