package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/test/quantile"
)

func modesFlags(f *pflag.FlagSet, o *options) {
	o.safetyFlag(f)
	f.IntVar(&o.rounds, "rounds", 20, "how often the coordinator ends in each way, per algorithm, "+
		"size and mode")
	f.StringSliceVar(&o.faults, "faults", faultNames(), "the ways in which it ends")
}

// modes strikes the coordinators of a Classic and of a Guarded group, turn about, so that whatever
// else the machine does disturbs both alike. Of large groups, measure one at a time: two do not
// leave each other much of the machine.
func modes(ctx context.Context, o options) error {
	fmt.Printf("From the fault on, in milliseconds; heartbeat %v, leases of %v to %v:\n\n",
		o.heartbeat, o.shortest, o.lease)
	fmt.Println("| algorithm | processes | the coordinator's end | safety | N " +
		"| every survivor names the new one: median | p90 | p99 | max " +
		"| the new one may act: median | p90 | p99 | max | a paused one, when it goes on |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	return o.each(func(algorithm string, size int) error {
		c, err := o.compare(ctx, algorithm, size)
		if err != nil {
			return err
		}
		for i, f := range o.faults {
			for _, safety := range o.safeties {
				r := c[safety][i]
				fmt.Printf("| %s | %d | %s | %s | %d | %s | %s | %s |\n", algorithm, size, f, safety,
					len(r.named), spread(r.named), spread(r.acted), r.woken)
			}
		}
		return nil
	})
}

// outcome is what the trials of one fault gave.
type outcome struct {
	named, acted []time.Duration
	woken        wakings
}

func (r *outcome) add(t trial) {
	r.named, r.acted = append(r.named, t.named), append(r.acted, t.acted)
	if t.woken != nil {
		r.woken = append(r.woken, *t.woken)
	}
}

// compare returns the outcomes by safety, of each fault.
func (o options) compare(
	ctx context.Context, algorithm string, size int,
) (map[string][]outcome, error) {
	groups, outcomes := map[string]*group{}, map[string][]outcome{}
	for _, safety := range o.safeties {
		g, err := o.group(ctx, algorithm, safety, size)
		if err != nil {
			return nil, err
		}
		defer g.close()
		groups[safety], outcomes[safety] = g, make([]outcome, len(o.faults))
	}
	for round := range o.rounds {
		for i, f := range o.faults {
			for _, safety := range o.safeties {
				t, err := groups[safety].try(ctx, f)
				if err != nil {
					return nil, fmt.Errorf("%s, %s, round %d: %w", safety, f, round+1, err)
				}
				outcomes[safety][i].add(t)
				fmt.Fprintf(os.Stderr, "\r%s, %d processes, round %d of %d: %s, %s: %s ms   ", algorithm, size,
					round+1, o.rounds, f, safety, ms(t.acted))
			}
		}
	}
	fmt.Fprintln(os.Stderr)
	return outcomes, nil
}

// wakings of one group.
type wakings []waking

// String tells how often a paused process still said that it may act, and how soon after SIGCONT it
// answered.
func (w wakings) String() string {
	if len(w) == 0 {
		return ""
	}
	acted, after := 0, []time.Duration{}
	for _, one := range w {
		if one.acts {
			acted++
		}
		after = append(after, one.after)
	}
	return fmt.Sprintf("503: %d, 200: %d, within %s ms", len(w)-acted, acted,
		ms(quantile.Of(after, 1)))
}
