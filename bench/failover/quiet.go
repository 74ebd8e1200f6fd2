package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/test/quantile"
)

func quietFlags(f *pflag.FlagSet, o *options) {
	o.safetyFlag(f)
	o.sizes = []int{5, 20, 100}
	f.DurationVar(&o.span, "span", 20*time.Second, "how long a quiet group is watched, per "+
		"algorithm, size and mode")
}

// quiet measures what groups send when nothing happens, and what that costs.
func quiet(ctx context.Context, o options) error {
	fmt.Printf("Messages a second in a quiet group, and CPU in percent of a core, over %v:\n\n",
		o.span)
	fmt.Println("| algorithm | safety | processes | heartbeat | formed after " +
		"| of the group | of the coordinator | of the median process | questions and answers " +
		"| lease requests and responses | of elections | CPU, coordinator | CPU, median agent | " +
		"resident, median agent |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	return o.each(func(algorithm string, size int) error {
		for _, safety := range o.safeties {
			if err := o.slowly(ctx, algorithm, safety, size); err != nil {
				return fmt.Errorf("%s: %w", safety, err)
			}
		}
		return nil
	})
}

// slowly measures a group, and a slower one where the machine is too small for so many processes to
// start at that pace.
func (o options) slowly(ctx context.Context, algorithm, safety string, size int) error {
	for _, times := range [...]int{1, 5, 10} {
		slower := o
		for _, d := range [...]*time.Duration{&slower.heartbeat, &slower.lease, &slower.timeout} {
			*d *= time.Duration(times)
		}
		row := fmt.Sprintf("| %s | %s | %d | %v |", algorithm, safety, size, slower.heartbeat)
		figures, err := slower.quiet(ctx, algorithm, safety, size)
		if !errors.Is(err, errRestless) {
			if err == nil {
				fmt.Println(row, figures)
			}
			return err
		}
		fmt.Printf("%s not quiet within %v | | | | | | | | | |\n", row, o.patience)
	}
	return nil
}

// quiet returns the figures of one group, as columns of the table.
func (o options) quiet(ctx context.Context, algorithm, safety string, size int) (string, error) {
	g, err := o.group(ctx, algorithm, safety, size)
	if err != nil {
		return "", err
	}
	defer g.close()
	coordinator, err := g.ready(ctx)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(os.Stderr, "%s, %s, %d processes: formed after %v\n",
		algorithm, safety, size, g.formed.Round(time.Millisecond))
	w, err := g.watch(ctx, o.span)
	if err != nil {
		return "", err
	}
	if err := g.still(ctx, coordinator); err != nil {
		return "", err
	}
	resident, err := g.resident()
	if err != nil {
		return "", err
	}
	each, all := make([]float64, 0, size), sent{}
	for _, s := range w.sent {
		each, all = append(each, s.total()), all.plus(1, s)
	}
	return fmt.Sprintf("%s | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.2f %% | %.2f %% | %.1f MiB |",
		g.formed.Round(10*time.Millisecond), all.total(), w.sent[coordinator].total(),
		quantile.Of(each, 0.5),
		all.questions+all.answers, all.requests+all.responses, all.messages,
		w.cpu[coordinator], quantile.Of(slices.Collect(maps.Values(w.cpu)), 0.5), resident), nil
}
