package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/podesta-dev/podesta/test/quantile"
)

// quiet measures what groups send when nothing happens, and what that costs.
func quiet(ctx context.Context, o options) error {
	fmt.Printf("Messages a second in a quiet group, and CPU in percent of a core, over %v:\n\n",
		o.span)
	fmt.Println("| algorithm | safety | agent | processes | heartbeat | formed after " +
		"| of the group | of the coordinator | of the median process | questions and answers " +
		"| lease requests and responses | of elections | CPU, coordinator | CPU, median agent | " +
		"resident, median agent |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	return o.each(func(plans []plan) error {
		for _, p := range plans {
			if err := o.slowly(ctx, p); err != nil {
				return fmt.Errorf("%s: %w", p.safety, err)
			}
		}
		return nil
	})
}

// slowly measures a group, and a slower one where the machine is too small for so many processes to
// start at that pace.
func (o options) slowly(ctx context.Context, p plan) error {
	for _, times := range [...]int{1, 5, 10} {
		slower := p
		for _, d := range [...]*time.Duration{&slower.heartbeat, &slower.lease, &slower.timeout} {
			*d *= time.Duration(times)
		}
		row := fmt.Sprintf("| %s | %s | %s | %d | %v |", p.algorithm, p.safety, p.agent, p.size,
			slower.heartbeat)
		figures, err := slower.quiet(ctx, o.span)
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
func (p plan) quiet(ctx context.Context, span time.Duration) (string, error) {
	g, err := newGroup(ctx, p)
	if err != nil {
		return "", err
	}
	defer g.close()
	coordinator, err := g.ready(ctx)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(os.Stderr, "%s, %s, %d processes: formed after %v\n",
		p.algorithm, p.safety, p.size, g.formed.Round(time.Millisecond))
	w, err := g.watch(ctx, span)
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
	each, all := make([]float64, 0, p.size), sent{}
	for _, s := range w.sent {
		each, all = append(each, s.total()), all.plus(1, s)
	}
	return fmt.Sprintf("%s | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.2f %% | %.2f %% | %.1f MiB |",
		g.formed.Round(10*time.Millisecond), all.total(), w.sent[coordinator].total(),
		quantile.Of(each, 0.5),
		all.questions+all.answers, all.requests+all.responses, all.messages,
		w.cpu[coordinator], quantile.Of(slices.Collect(maps.Values(w.cpu)), 0.5), resident), nil
}
