package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/account"
	"github.com/podesta-dev/podesta/bench/peers/condition"
	"github.com/podesta-dev/podesta/bench/peers/proxy"
	"github.com/podesta-dev/podesta/bench/peers/report"
)

// failoverOptions are the flags of failover.
type failoverOptions struct {
	options
	faults []string
	rounds int
	settle time.Duration
}

func (o *failoverOptions) known() []system {
	minute := etcdWith(time.Minute)
	minute.optional = true
	return slices.Concat([]system{
		podestaClassic(), podestaGuarded(o.shortest), podestaGuarded(longestLease), podestaDefaults(),
		raftWith(0), raftWith(200 * time.Millisecond),
	}, withServers(), []system{minute})
}

// failover has the leaders of all systems end, by turns, and measures how long it takes until all
// survivors name the same new one.
func failover(ctx context.Context, args []string) error {
	var o failoverOptions
	f := o.flagSet("failover")
	f.StringSliceVar(&o.faults, "faults", faultNames(ends), "the ways in which leaders end")
	f.IntVar(&o.rounds, "rounds", 20, "how often the leader of each system ends in each way")
	f.DurationVar(&o.settle, "settle", 2*time.Second,
		"for how long nothing must have changed before a fault")
	if err := o.parse(f, args); err != nil {
		return err
	}
	systems, err := o.choose(o.known())
	if err != nil {
		return err
	}
	chosen, err := chooseFaults(o.faults, ends)
	if err != nil {
		return err
	}
	if err := adopt(); err != nil {
		return err
	}
	dir, done, err := o.place()
	if err != nil {
		return err
	}
	defer done()
	servers, err := startServers(ctx, dir, systems)
	if err != nil {
		return err
	}
	var all []report.Record
	for _, ways := range []bool{false, true} {
		some := slices.DeleteFunc(slices.Clone(chosen), func(f fault) bool {
			return f.network != ways
		})
		if len(some) == 0 {
			continue
		}
		records, err := o.compare(ctx, filepath.Join(dir, fmt.Sprintf("network-%v", ways)), servers,
			systems, some)
		if err != nil {
			return errors.Join(err, servers.stop())
		}
		all = append(all, records...)
	}
	report.FailoverTable(os.Stdout, all)
	for _, r := range all {
		err = errors.Join(err, o.write(r))
	}
	return errors.Join(err, servers.stop())
}

// compare strikes the leaders of all systems by turns, so that whatever else the machine does
// disturbs all alike.
func (o *failoverOptions) compare(
	ctx context.Context, dir string, servers *servers, systems []system, some []fault,
) ([]report.Record, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	calm, err := condition.Begin(condition.Condition{})
	if err != nil {
		return nil, err
	}
	ways, err := beginNetwork(some[0].network)
	if err != nil {
		return nil, err
	}
	defer ways.End()
	var teams []*team
	defer func() {
		for _, t := range teams {
			t.close()
		}
	}()
	if teams, err = o.startTeams(ctx, dir, systems, servers, ways, proxy.Weather{},
		calm); err != nil {
		return nil, err
	}
	var records []report.Record
	for _, f := range some {
		for _, y := range systems {
			records = append(records, o.record(report.Failover, y.name, f.name))
		}
	}
	for round := range o.rounds {
		for i := range some {
			for j, t := range teams {
				if err := o.try(ctx, t, some[i], &records[i*len(teams)+j]); err != nil {
					return nil, fmt.Errorf("round %d, %s: %w", round+1, some[i].name, err)
				}
			}
			progress(round+1, o.rounds, some[i].name, records[i*len(teams):(i+1)*len(teams)])
		}
	}
	return records, nil
}

// progress tells how long each system took last.
func progress(round, rounds int, fault string, records []report.Record) {
	var took []string
	for _, r := range records {
		last := "none"
		if len(r.Took) > 0 {
			last = fmt.Sprintf("%.0f ms", r.Took[len(r.Took)-1])
		}
		took = append(took, r.System+" "+last)
	}
	fmt.Fprintf(os.Stderr, "%s round %d of %d, %s: %s\n", time.Now().Format(time.TimeOnly), round,
		rounds, fault, strings.Join(took, ", "))
}

// try strikes the leader of a team that is quiet, waits for the next one, and mends.
func (o *failoverOptions) try(ctx context.Context, t *team, f fault, r *report.Record) error {
	waiting, cancel := context.WithTimeoutCause(ctx, o.patience,
		errors.New("given up: raise --patience"))
	defer cancel()
	leader, err := t.ready(waiting, o.settle)
	if err != nil {
		return err
	}
	struck, err := f.strike(t, leader, account.Fault{Name: f.name, Lasts: f.least})
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
		r.Took = append(r.Took, account.Durations{named.Sub(struck)}.Milliseconds()...)
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		r.Unanswered++
		fmt.Fprintf(os.Stderr, "%s, %s: %v\n", t.system.name, f.name, err)
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
	return f.mend(ctx, t, leader)
}
