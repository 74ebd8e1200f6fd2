package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// failoverOptions are the flags of failover.
type failoverOptions struct {
	options
	faults []string
	rounds int
}

// failovers has the failovers of one system after one kind of fault.
type failovers struct {
	System string          `json:"system"`
	Fault  string          `json:"fault"`
	Took   []time.Duration `json:"took"` // until all survivors named the same new leader
	None   int             `json:"none"` // without a new leader
}

// failover has the leaders of all systems end, by turns, and measures how long it takes until all
// survivors name the same new one.
func failover(ctx context.Context, args []string) error {
	var o failoverOptions
	f := o.flagSet("failover")
	f.StringSliceVar(&o.faults, "faults", nil, "the ways in which leaders end: SIGKILL, SIGSTOP, "+
		"SIGTERM, cut (all)")
	f.IntVar(&o.rounds, "rounds", 20, "how often the leader of each system ends in each way")
	systems, results, err := o.parse(f, args, known())
	if err != nil {
		return err
	}
	chosen, err := choose("faults", o.faults, ends, func(f fault) string { return f.name })
	if err != nil {
		return err
	}
	return o.run(ctx, systems, results, func(dir string, servers *servers) error {
		for _, ways := range []bool{false, true} {
			some := slices.DeleteFunc(slices.Clone(chosen), func(f fault) bool { return f.ways != ways })
			if len(some) == 0 {
				continue
			}
			all, err := o.compare(ctx, filepath.Join(dir, fmt.Sprintf("ways-%v", ways)), servers,
				systems, some)
			if err != nil {
				return err
			}
			results.Failovers = append(results.Failovers, all...)
		}
		results.failoverTable(os.Stdout)
		return nil
	})
}

// compare strikes the leaders of all systems by turns, so that whatever else the machine does
// disturbs all alike.
func (o *failoverOptions) compare(
	ctx context.Context, dir string, servers *servers, systems []system, some []fault,
) ([]failovers, error) {
	teams, err := startTeams(ctx, dir, systems, servers, some[0].ways)
	defer closeAll(teams)
	if err != nil {
		return nil, err
	}
	var all []failovers
	for _, f := range some {
		for _, y := range systems {
			all = append(all, failovers{System: y.name, Fault: f.name})
		}
	}
	for round := range o.rounds {
		fmt.Fprintf(os.Stderr, "%s round %d of %d\n", time.Now().Format(time.TimeOnly), round+1, o.rounds)
		for i, f := range some {
			for j, t := range teams {
				if err := o.try(ctx, t, f, &all[i*len(teams)+j]); err != nil {
					return nil, fmt.Errorf("round %d, %s: %w", round+1, f.name, err)
				}
			}
		}
	}
	return all, nil
}

// try strikes the leader of a team that is quiet, waits for the next one, and mends.
func (o *failoverOptions) try(ctx context.Context, t *team, f fault, all *failovers) error {
	waiting, cancel := context.WithTimeoutCause(ctx, o.patience,
		errors.New("given up: raise --patience"))
	defer cancel()
	leader, err := t.ready(waiting)
	if err != nil {
		return err
	}
	struck, err := f.strike(t, leader)
	if err != nil {
		return err
	}
	over := time.After(f.least)
	waiting, cancel = context.WithTimeout(ctx, o.patience)
	defer cancel()
	_, named, err := t.book.Await(waiting, t.survivors(leader), func(l string) bool {
		return l != leader
	})
	switch {
	case err == nil:
		all.Took = append(all.Took, named.Sub(struck))
		fmt.Fprintf(os.Stderr, "%s, %s: %v\n", t.system.name, f.name, named.Sub(struck))
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		all.None++
		fmt.Fprintf(os.Stderr, "%s, %s: %v\n", t.system.name, f.name, err)
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
	return f.mend(ctx, t, leader)
}
