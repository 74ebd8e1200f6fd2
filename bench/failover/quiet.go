package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/podesta-dev/podesta/test/quantile"
)

// quiet measures what groups send when nothing happens, and what that costs.
func quiet(ctx context.Context, o options) error {
	fmt.Printf("Messages a second in a quiet group with profile %s, and CPU in percent of a core, "+
		"over %v:\n\n", o.profile, o.span)
	fmt.Println("| algorithm | safety | agent | processes | formed after " +
		"| of the group | of the coordinator | of the median process | questions and answers " +
		"| lease requests and responses | of elections | CPU, coordinator | CPU, median agent | " +
		"resident, median agent |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	return o.each(func(plans []plan) error {
		for _, p := range plans {
			figures, err := p.quiet(ctx, o.span)
			if err != nil {
				return fmt.Errorf("%s: %w", p.safety, err)
			}
			fmt.Printf("| %s | %s | %s | %d | %s\n", p.algorithm, p.safety, p.agent, p.size, figures)
		}
		return nil
	})
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
	each, err := g.watch(ctx, span)
	if err != nil {
		return "", err
	}
	if err := g.still(ctx, coordinator); err != nil {
		return "", err
	}
	resident, err := g.resident(ctx)
	if err != nil {
		return "", err
	}
	var all rates
	var sent, cpu []float64
	for _, r := range each {
		all.detector += r.detector
		all.lease += r.lease
		all.elections += r.elections
		sent, cpu = append(sent, r.sent()), append(cpu, r.cpu)
	}
	return fmt.Sprintf("%s | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | %.2f %% | %.2f %% | %.1f MiB |",
		g.formed.Round(10*time.Millisecond), all.sent(), each[coordinator].sent(),
		quantile.Of(sent, 0.5), all.detector, all.lease, all.elections, each[coordinator].cpu,
		quantile.Of(cpu, 0.5), resident), nil
}
