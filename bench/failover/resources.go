package main

import (
	"context"
	"fmt"
	"time"

	"github.com/podesta-dev/podesta/bench/exposition"
	"github.com/podesta-dev/podesta/test/quantile"
)

// rates are what an agent did while its group was quiet.
type rates struct {
	detector, lease, elections float64 // messages that it sent for each, a second
	cpu                        float64 // percent of one core
}

func (r rates) sent() float64 { return r.detector + r.lease + r.elections }

// watch watches a quiet group for a while.
func (g *group) watch(ctx context.Context, span time.Duration) (map[string]rates, error) {
	begun := time.Now()
	before, err := g.metrics(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.until(ctx, begun.Add(span)); err != nil {
		return nil, err
	}
	after, err := g.metrics(ctx)
	if err != nil {
		return nil, err
	}
	all := map[string]rates{}
	for _, name := range g.names {
		rate := func(families ...string) (sum float64) {
			for _, family := range families {
				sum += (after[name][family] - before[name][family]) / span.Seconds()
			}
			return sum
		}
		r := rates{
			detector: rate("podesta_agent_questions_sent_total", "podesta_agent_answers_sent_total"),
			lease: rate("podesta_agent_lease_requests_sent_total",
				"podesta_agent_lease_responses_sent_total"),
			elections: rate("podesta_agent_messages_sent_total"),
			cpu:       100 * rate("process_cpu_seconds_total"),
		}
		if r.detector <= 0 || r.cpu < 0 {
			return nil, fmt.Errorf("%s sent no heartbeat in %v, or was started anew: %+v", name, span, r)
		}
		all[name] = r
	}
	return all, nil
}

// metrics are those of each agent.
func (g *group) metrics(ctx context.Context) (map[string]map[string]float64, error) {
	all := map[string]map[string]float64{}
	for _, name := range g.names {
		of, err := exposition.Get(ctx, "http://"+g.host(name)+":4042/metrics")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = of
	}
	return all, nil
}

// resident is the median resident memory of the agents, in MiB.
func (g *group) resident(ctx context.Context) (float64, error) {
	all, err := g.metrics(ctx)
	if err != nil {
		return 0, err
	}
	var sizes []float64
	for _, of := range all {
		sizes = append(sizes, of["process_resident_memory_bytes"]/(1<<20))
	}
	return quantile.Of(sizes, 0.5), nil
}
