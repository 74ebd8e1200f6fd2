// Command failover measures groups of agents that run as processes on this machine, with no manager
// and no Kubernetes.
//
//	failover kills   SIGKILL of the coordinator of Classic groups: how fast, and what an agent costs
//	failover modes   a coordinator that ends in four ways, in Classic and Guarded groups side by side
//	failover quiet   messages a second of groups in which nothing happens
//	failover recoveries  a coordinator that is killed just after the highest process has started
//	failover restarts  a coordinator of Guarded groups that is killed, and back at once
//
// All of them await what the agents say over open streams, so what they measure includes the way
// from an agent to its app.
//
//	make bin/agent && go run -C bench ./failover kills --kills 50
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/internal/roster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "failover:", err)
		stop()
		os.Exit(1)
	}
}

// command is something to measure.
type command struct {
	name    string
	flags   func(*pflag.FlagSet, *options) // beyond those that all have; it may change their defaults
	measure func(context.Context, options) error
}

var commands = [...]command{
	{"kills", killsFlags, kills},
	{"modes", modesFlags, modes},
	{"quiet", quietFlags, quiet},
	{"recoveries", recoveriesFlags, recoveries},
	{"restarts", restartsFlags, restarts},
}

func run(ctx context.Context, args []string) error {
	for _, c := range commands {
		if len(args) == 0 || args[0] != c.name {
			continue
		}
		var o options
		f := c.flagSet(&o)
		if err := f.Parse(args[1:]); err != nil {
			return err
		}
		if f.NArg() > 0 {
			return fmt.Errorf("unexpected argument %q", f.Arg(0))
		}
		if err := o.validate(); err != nil {
			return err
		}
		return c.measure(ctx, o)
	}
	return errors.New(
		"say what to measure: kills, modes, quiet, recoveries or restarts (each has --help)")
}

// options are the flags. Each command has those that it needs.
type options struct {
	binary     string
	algorithms []string
	sizes      []int
	safeties   []string
	faults     []string
	rounds     int
	span       time.Duration
	heartbeat  time.Duration
	lease      time.Duration
	shortest   time.Duration
	timeout    time.Duration
	patience   time.Duration
}

// flagSet sets the defaults, and has the flags change them.
func (c command) flagSet(o *options) *pflag.FlagSet {
	*o = options{
		binary:     "../bin/agent",
		algorithms: []string{"Bully", "RingList"},
		sizes:      []int{5},
		rounds:     1,
		heartbeat:  100 * time.Millisecond,
		lease:      time.Second,
		shortest:   100 * time.Millisecond,
		timeout:    500 * time.Millisecond,
		patience:   time.Minute,
	}
	f := pflag.NewFlagSet("failover "+c.name, pflag.ContinueOnError)
	f.SortFlags = false
	c.flags(f, o)
	f.StringVar(&o.binary, "agent", o.binary, "Podesta's agent (make bin/agent)")
	f.StringSliceVar(&o.algorithms, "algorithms", o.algorithms, "the algorithms to measure")
	f.IntSliceVar(&o.sizes, "processes", o.sizes, "the sizes of groups, 2 to 250")
	f.DurationVar(&o.heartbeat, "heartbeat", o.heartbeat, "the groups' heartbeat")
	f.DurationVar(&o.lease, "lease", o.lease, "the Guarded groups' longest lease")
	f.DurationVar(&o.shortest, "lease-minimum", o.shortest,
		"their shortest; with that of --lease it never changes")
	f.DurationVar(&o.timeout, "timeout", o.timeout, "the groups' timeout")
	f.DurationVar(&o.patience, "patience", o.patience, "how long a group may take to agree")
	return f
}

// safetyFlag has a command measure groups of both safeties, or of one of them.
func (o *options) safetyFlag(f *pflag.FlagSet) {
	f.StringSliceVar(&o.safeties, "safety", []string{roster.Classic, roster.Guarded},
		"Classic, Guarded or both; of both, modes runs a group at the same time")
}

func (o options) validate() error {
	if o.rounds < 1 {
		return errors.New("at least one round is needed")
	}
	for _, safety := range o.safeties {
		if safety != roster.Classic && safety != roster.Guarded {
			return fmt.Errorf("--safety %s: must be %s or %s", safety, roster.Classic, roster.Guarded)
		}
	}
	for _, name := range o.faults {
		if _, err := findFault(name); err != nil {
			return fmt.Errorf("--faults: %w", err)
		}
	}
	for _, size := range o.sizes {
		if size < 2 || size > 250 {
			return fmt.Errorf("--processes %d: must be 2 to 250, each has a loopback address of its own",
				size)
		}
	}
	return nil
}

// each calls measure with every algorithm and size.
func (o options) each(measure func(algorithm string, size int) error) error {
	for _, algorithm := range o.algorithms {
		for _, size := range o.sizes {
			if err := measure(algorithm, size); err != nil {
				return fmt.Errorf("%s, %d processes: %w", algorithm, size, err)
			}
		}
	}
	return nil
}

// group starts a group of these options.
func (o options) group(ctx context.Context, algorithm, safety string, size int) (*group, error) {
	return newGroup(ctx, plan{
		binary:    o.binary,
		algorithm: algorithm,
		safety:    safety,
		size:      size,
		heartbeat: o.heartbeat,
		lease:     o.lease,
		shortest:  o.shortest,
		timeout:   o.timeout,
		patience:  o.patience,
	})
}

// repeat does something in each round, shows how far it is, and returns how long it took.
func (o options) repeat(
	what string, once func() (time.Duration, error),
) (took []time.Duration, err error) {
	for i := range o.rounds {
		d, err := once()
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", i+1, err)
		}
		took = append(took, d)
		fmt.Fprintf(os.Stderr, "\r%s: round %d of %d took %s ms   ", what, i+1, o.rounds, ms(d))
	}
	fmt.Fprintln(os.Stderr)
	return took, nil
}
