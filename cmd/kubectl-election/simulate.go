package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
	"github.com/podesta-dev/podesta/internal/sim/scenario/simulate"
)

const simulateLong = `Play an election on this machine and show every message. No cluster is
needed: the algorithms are those that the agents run, on a simulated network.

Processes are numbered 1 to N, in ring order 1→2→…→N→1; a process's priority is its number unless
--priorities says otherwise. Time counts link delays: a message takes one to arrive, and T, how
long a process waits for an answer, is two.

Before time 0 the process with the highest priority coordinates (or --coordinator; --cold: nobody).
If you say nothing about who is down, it has just crashed; if you say nothing about who notices,
the live process with the lowest priority does, and calls an election. Once you time a fault
(--crash, --recover, --unhealthy P@T, --healthy, --partition), every process watches its
coordinator and calls an election when it misses it; --watch=false leaves that out.

What processes know of those that are down at time 0: in a ring, a process's predecessor knows, and
skips it, because the link shows it. Nobody else has been told, so bully asks the dead, too, apart
from the coordinator that it has just missed. When a process crashes later, its predecessor in a
ring learns of it T after the crash.

--unhealthy fails the app of a process and not its agent: the process cannot coordinate, and its
agent goes on answering, and forwarding messages in a ring. A coordinator whose app fails calls an
election itself.

A message sent to a process that is down counts. The total is of the election's own messages:
VIEWs, by which processes hear of two coordinators, are counted apart.

Algorithms: %s.`

const simulateExamples = `  # The coordinator of five processes has crashed, and process 1 notices: bully's worst case
  kubectl election simulate

  # Ten processes, P10 is down, P4 calls the election: 43 messages by bully, 10 by the status table
  kubectl election simulate --processes 10 --crashed 10 --initiator 4
  kubectl election simulate --processes 10 --crashed 10 --initiator 4 --algorithm StatusTableBully

  # All algorithms on that scenario, side by side
  kubectl election simulate --processes 10 --crashed 10 --initiator 4 --compare

  # The coordinator crashes at time 3 and comes back at time 20; draw it
  kubectl election simulate --algorithm RingList --crash 5@3 --recover 5@20 -o svg > ring.svg

  # The app of the coordinator fails; its agent goes on forwarding
  kubectl election simulate --algorithm LeLann --unhealthy 5

  # A partition from time 2 to 20: each side elects; when it heals, the sides merge
  kubectl election simulate --processes 5 --partition "1,2|3,4,5@2-20"`

// newSimulateCommand plays a scenario and shows it.
func newSimulateCommand() *cobra.Command {
	var o simulate.Options
	var output string
	var compare, watch bool
	command := &cobra.Command{
		Use:     "simulate",
		Short:   "Play an election on this machine and show every message",
		Long:    fmt.Sprintf(simulateLong, strings.Join(election.Algorithms(), ", ")),
		Example: simulateExamples,
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := checkOutput(output, compare); err != nil {
				return usage(err)
			}
			if c.Flags().Changed("seed") && o.Seed == 0 {
				return usage(errors.New("--seed 0: must be 1 or more; " +
					"without --seed each message takes exactly one link delay"))
			}
			if c.Flags().Changed("watch") {
				o.Watch = &watch
			}
			if compare {
				return simulateAll(c.OutOrStdout(), o, output)
			}
			return simulateOne(c.OutOrStdout(), o, output)
		},
	}
	f := command.Flags()
	f.SortFlags = false
	f.StringVar(&o.Algorithm, "algorithm", simulate.DefaultAlgorithm,
		"the election algorithm: "+strings.Join(election.Algorithms(), ", "))
	f.IntVar(&o.Processes, "processes", simulate.DefaultProcesses,
		fmt.Sprintf("how many processes `N` there are, at most %d", simulate.MaxProcesses))
	f.IntSliceVar(&o.Priorities, "priorities", nil,
		"priorities of the processes 1 to N, as in 3,1,2 (default 1 to N)")
	f.IntVar(&o.Coordinator, "coordinator", 0,
		"the process `P` that coordinates before time 0 (default: that with the highest priority)")
	f.BoolVar(&o.Cold, "cold", false,
		"nobody coordinates before time 0; all processes start then, or only those of --initiator")
	f.IntSliceVar(&o.Crashed, "crashed", nil, "processes that are down from the beginning, as in 4,5")
	f.IntSliceVar(&o.Initiators, "initiator", nil,
		"processes that call an election at time 0, as in 1,3")
	f.StringArrayVar(&o.Crash, "crash", nil, "process P crashes at time T, as `P@T` (may be repeated)")
	f.StringArrayVar(&o.Recover, "recover", nil,
		"process P recovers at time T, as `P@T` (may be repeated)")
	f.StringArrayVar(&o.Unhealthy, "unhealthy", nil,
		"the app of process P fails and its control part goes on: from the beginning, "+
			"or from time T on as `P[@T]` (may be repeated)")
	f.StringArrayVar(&o.Healthy, "healthy", nil,
		"the app of process P works again at time T, as `P@T` (may be repeated)")
	f.StringArrayVar(&o.Partitions, "partition", nil,
		"the network is cut from time T on, or until T2, as `\"1,2|3,4@T-T2\"` (may be repeated)")
	f.BoolVar(&watch, "watch", false,
		"every process watches its coordinator (default: if a fault has a time)")
	f.Uint64Var(&o.Seed, "seed", 0,
		"draw the delays of messages from this seed (default: each is exactly one)")
	f.Float64Var(&o.Until, "until", 0, "stop at this time (default: when all is at rest)")
	f.StringVarP(&output, "output", "o", "text",
		"text (a line an event), json (one object) or svg (a space-time diagram)")
	f.BoolVar(&compare, "compare", false,
		"all algorithms on the same scenario: messages, time and winner in one table")
	return command
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: simulate takes flags only; "+
			"see kubectl election simulate --help", args[0])
	}
	return nil
}

func checkOutput(output string, compare bool) error {
	switch output {
	case "text", "json":
		return nil
	case "svg":
		if compare {
			return fmt.Errorf("-o svg: --compare makes a table, so say -o text or -o json; " +
				"or draw one algorithm without --compare")
		}
		return nil
	default:
		return fmt.Errorf("-o %q: must be text, json or svg", output)
	}
}

func simulateOne(out io.Writer, o simulate.Options, output string) error {
	s, err := o.Scenario()
	if err != nil {
		return usage(err)
	}
	r, err := scenario.Play(s)
	if err != nil {
		return err
	}
	switch output {
	case "json":
		return simulate.NewReport(s, r).WriteJSON(out)
	case "svg":
		_, err = out.Write(simulate.Draw(s, r).SVG())
		return err
	default:
		return simulate.WriteText(out, s, r)
	}
}

// simulateAll plays the same scenario under every algorithm.
func simulateAll(out io.Writer, o simulate.Options, output string) error {
	c, err := simulate.Compare(o)
	if err != nil { // of the scenario: what cannot be played is a row
		return usage(err)
	}
	if output == "json" {
		return c.WriteJSON(out)
	}
	return c.WriteText(out)
}
