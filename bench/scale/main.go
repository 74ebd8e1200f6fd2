// Command scale puts a load on a real manager: etcd and kube-apiserver on this machine, bin/manager
// as it ships (leader election, the rights of its ServiceAccount), groups, pods, and an agent for
// each pod but those of --silent. It prints a table, and writes it to --out.
//
//	go run -C bench ./scale --groups 200 --manager "$PWD/bin/manager"
//
// # What is real
//
// The API server, etcd and the manager. Each agent is the product's own client (internal/roster): a
// token bound to its pod, a Join, its certificate, one mTLS connection, reports, backoff. It
// connects from an address of its node. Pods are what injection makes of a small Deployment's pod.
//
// # What is not
//
// There are no elections, no links between agents and no apps: the agents of a group report what
// those of a real group would after one (a coordinator, an epoch, the table). There is no kubelet,
// no scheduler and no controller but the manager's: pods have the status that a kubelet would have
// written. Agents renew their certificates after 12 h, so a run has no renewals. All processes
// share this machine, and etcd does not sync its disk.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/podesta-dev/podesta/hack/cluster/process"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "tether" { // see controlplane
		fmt.Fprintln(os.Stderr, "scale:", process.Tether(os.Args[2:]))
		os.Exit(1)
	}
	// What the libraries log, the phases measure.
	klog.SetLogger(logr.Discard())
	ctrllog.SetLogger(logr.FromSlogHandler(slog.DiscardHandler))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// phases are what can be measured, in the order in which it makes sense.
var phases = []struct {
	name string
	run  func(context.Context, *site) error
}{
	{"rest", atRest},
	{"failovers", failovers},
	{"restart", restart},
}

func phaseNames() []string {
	names := make([]string, len(phases))
	for i, p := range phases {
		names[i] = p.name
	}
	return names
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	s, err := build(ctx, o)
	if err != nil {
		return err
	}
	err = s.measure(ctx)
	return errors.Join(err, s.results.write(out, s.out), s.close())
}

// measure goes through the phases that were asked for.
func (s *site) measure(ctx context.Context) error {
	for _, p := range phases {
		if !slices.Contains(s.phases, p.name) {
			continue
		}
		if err := p.run(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if err := s.awaitRight(ctx, "all statuses right after "+p.name); err != nil {
			return fmt.Errorf("after %s: %w", p.name, err)
		}
	}
	return nil
}

// options are the flags.
type options struct {
	groups, processes int
	silent            int // further groups, whose pods have no agents
	phases            []string

	standby     bool
	manager     string
	memoryLimit string
	root        string
	out         string

	span time.Duration
	rate float64
}

const (
	perNamespace = 50  // groups
	perNode      = 100 // pods, each of another group
	joining      = 500 // groups whose agents join at a time: a herd

	// from a coordinator's end to the next one's reports: the median with default leases
	electing = 90 * time.Millisecond
	back     = 3 * time.Second // from a coordinator's end until its agent is back
	stale    = 0.1             // the share of the groups that fail over while no manager runs

	patience = 10 * time.Minute // how long a step may take without progress
)

func parse(args []string) (o options, err error) {
	f := pflag.NewFlagSet("scale", pflag.ContinueOnError)
	f.SortFlags = false
	f.IntVar(&o.groups, "groups", 200, "how many ElectionGroups")
	f.IntVar(&o.processes, "processes", 5, "the pods of each group, 3 to 50")
	f.IntVar(&o.silent, "silent", 0, "so many groups more, whose pods have no agents: the manager "+
		"keeps them in its caches, and they need no open files")
	f.StringSliceVar(&o.phases, "phases",
		phaseNames(),
		"what to measure, of "+strings.Join(phaseNames(), ", "))
	f.BoolVar(&o.standby, "standby", false, "run a second manager, as an installation does")
	f.StringVar(&o.manager, "manager", "../bin/manager", "the manager's program")
	f.StringVar(&o.memoryLimit, "memory-limit", "",
		"MEMORY_LIMIT of the manager in bytes; empty: none")
	f.StringVar(&o.root, "root", "..", "the source tree, for what is in config/")
	f.StringVar(&o.out, "out", "", "directory for results and logs (default: a new one)")
	f.DurationVar(&o.span, "span", 30*time.Second, "how long to watch at rest, and to make failovers")
	f.Float64Var(&o.rate, "rate", 5, "failovers a second")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return o, o.validate()
}

func (o options) validate() error {
	for _, name := range o.phases {
		if !slices.Contains(phaseNames(), name) {
			return fmt.Errorf("--phases %s: must be of %s", name, strings.Join(phaseNames(), ", "))
		}
	}
	switch {
	case o.groups < 1 || o.silent < 0 || o.groups+o.silent > 20_000:
		return fmt.Errorf("--groups %d, --silent %d: must be at least 1 and 0, and at most 20000 "+
			"together", o.groups, o.silent)
	case o.processes < 3 || o.processes > 50:
		return fmt.Errorf("--processes %d: must be 3 to 50", o.processes)
	case o.rate <= 0:
		return errors.New("--rate must be above 0")
	}
	return o.enoughFiles()
}

// enoughFiles fails if this process, or a manager, may not have as many open files as there are
// agents: each has a connection.
func (o options) enoughFiles() error {
	const spare = 200
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	if need := uint64(o.groups*o.processes + spare); limit.Max < need { //nolint:gosec // validated
		return fmt.Errorf("%d agents need %d open files here and in the manager, and %d are allowed: "+
			"raise the hard limit (ulimit -Hn)", o.groups*o.processes, need, limit.Max)
	}
	return nil
}
