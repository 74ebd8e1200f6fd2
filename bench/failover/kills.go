package main

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/quantile"
)

func killsFlags(f *pflag.FlagSet, o *options) {
	o.algorithms, o.sizes = election.Algorithms(), []int{5, 20}
	f.IntVar(&o.rounds, "kills", 50, "how often the coordinator is killed, per algorithm and size")
	f.DurationVar(&o.span, "idle", 10*time.Second, "how long a quiet group is watched for its CPU, "+
		"per algorithm and size")
}

// kills measures, in Classic groups, the time from SIGKILL of the coordinator until every survivor
// names the same new one. Then the killed one is started again, and so on. All processes start at
// once: "formed after" is from the first one's start until all agree. No election is over sooner
// than in the CPU time that its processes use, divided by the cores of the machine: the table shows
// that, too.
func kills(ctx context.Context, o options) error {
	fmt.Println("SIGKILL of the coordinator until every survivor names the same new one, in " +
		"milliseconds:")
	fmt.Println()
	fmt.Println("| algorithm | processes | formed after | kills | median | p90 | p99 | max " +
		"| CPU time ÷ cores, median | resident, median agent " +
		"| CPU when quiet, median agent | and coordinator |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|")
	return o.each(func(algorithm string, size int) error {
		g, err := o.group(ctx, algorithm, roster.Classic, size)
		if err != nil {
			return err
		}
		defer g.close()
		var bound []time.Duration
		what := fmt.Sprintf("%s, %d processes", algorithm, size)
		took, err := o.repeat(what, func() (time.Duration, error) {
			t, err := g.try(ctx, "SIGKILL")
			bound = append(bound, t.worked/time.Duration(runtime.NumCPU()))
			return t.named, err
		})
		if err != nil {
			return err
		}
		resident, err := g.resident()
		if err != nil {
			return err
		}
		coordinator, err := g.ready(ctx)
		if err != nil {
			return err
		}
		w, err := g.watch(ctx, o.span)
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %d | %s | %d | %s | %s | %.1f MiB | %.2f %% | %.2f %% |\n",
			algorithm, size, g.formed.Round(10*time.Millisecond), len(took), spread(took),
			ms(quantile.Of(bound, 0.5)), resident,
			quantile.Of(slices.Collect(maps.Values(w.cpu)), 0.5), w.cpu[coordinator])
		return nil
	})
}
