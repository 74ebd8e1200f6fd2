// Command failover measures groups of agents that run as processes on this machine, with no manager
// and no Kubernetes, by algorithm, size and safety.
//
//	failover kills   SIGKILL of the coordinator: how fast the next one is named, and may act
//	failover quiet   what a group sends, and what an agent costs, when nothing happens
//
// Other ways for a coordinator to end, and other systems: bench/peers.
//
// All of them await what the agents say over open streams, so what they measure includes the way
// from an agent to its app.
//
//	make bin/agent && go run -C bench ./failover kills --kills 50
//
// With --agent NAME=PATH, given several times, kills strikes groups of each build by turns.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/timing"
	"github.com/podesta-dev/podesta/test/quantile"
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

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "kills" && args[0] != "quiet" {
		return errors.New("say what to measure: kills or quiet (each has --help)")
	}
	measure := kills
	if args[0] == "quiet" {
		measure = quiet
	}
	var o options
	f := o.flagSet(args[0])
	if err := f.Parse(args[1:]); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if err := o.validate(); err != nil {
		return err
	}
	return measure(ctx, o)
}

// options are the flags.
type options struct {
	agents     []string // [NAME=]PATH
	algorithms []string
	sizes      []int
	safeties   []string
	profile    string
	kills      int
	span       time.Duration
}

// flagSet has the flags change the options.
func (o *options) flagSet(command string) *pflag.FlagSet {
	f := pflag.NewFlagSet("failover "+command, pflag.ContinueOnError)
	f.SortFlags = false
	if command == "kills" {
		f.IntVar(&o.kills, "kills", 50, "how often each coordinator is killed")
	} else {
		f.DurationVar(&o.span, "span", 20*time.Second, "how long each quiet group is watched")
	}
	f.StringSliceVar(&o.agents, "agent", []string{"../bin/agent"},
		"Podesta's agent (make bin/agent), as `[NAME=]PATH`; several, to compare builds")
	f.StringSliceVar(&o.algorithms, "algorithms", election.Algorithms(), "the algorithms to measure")
	f.IntSliceVar(&o.sizes, "processes", []int{5, 20}, "the sizes of groups, 2 to 250")
	f.StringSliceVar(&o.safeties, "safety", []string{roster.Classic, roster.Guarded},
		"Classic, Guarded or both")
	f.StringVar(&o.profile, "profile", timing.Default, "the timing: Fast, Balanced or Patient")
	return f
}

func (o options) validate() error {
	for _, safety := range o.safeties {
		if safety != roster.Classic && safety != roster.Guarded {
			return fmt.Errorf("--safety %s: must be %s or %s", safety, roster.Classic, roster.Guarded)
		}
	}
	if _, ok := timing.Of(o.profile); !ok {
		return fmt.Errorf("--profile %s: must be %s, %s or %s", o.profile, timing.Fast,
			timing.Balanced, timing.Patient)
	}
	for _, size := range o.sizes {
		if size < 2 || size > 250 {
			return fmt.Errorf("--processes %d: must be 2 to 250, each has a loopback address of its own",
				size)
		}
	}
	return nil
}

// each calls measure with the plans of every algorithm and size: one for each agent and safety.
func (o options) each(measure func(plans []plan) error) error {
	for _, algorithm := range o.algorithms {
		for _, size := range o.sizes {
			if err := measure(o.plans(algorithm, size)); err != nil {
				return fmt.Errorf("%s, %d processes: %w", algorithm, size, err)
			}
		}
	}
	return nil
}

func (o options) plans(algorithm string, size int) (all []plan) {
	profile, _ := timing.Of(o.profile)
	for _, agent := range o.agents {
		name, path, ok := strings.Cut(agent, "=")
		if !ok {
			name, path = "", agent
		}
		for _, safety := range o.safeties {
			all = append(all, plan{
				agent:     name,
				binary:    path,
				network:   fmt.Sprintf("127.%d.%d.", 71+len(all), os.Getpid()%250), // no other run's
				algorithm: algorithm,
				safety:    safety,
				profile:   profile,
				size:      size,
			})
		}
	}
	return all
}

// spread is median, 90th and 99th percentile and maximum, as columns of a table.
func spread(d []time.Duration) string {
	return fmt.Sprintf("%s | %s | %s | %s", ms(quantile.Of(d, 0.5)), ms(quantile.Of(d, 0.9)),
		ms(quantile.Of(d, 0.99)), ms(quantile.Of(d, 1)))
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }
