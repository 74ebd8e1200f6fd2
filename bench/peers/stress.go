package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/account"
	"github.com/podesta-dev/podesta/bench/peers/condition"
	"github.com/podesta-dev/podesta/bench/peers/lateness"
	"github.com/podesta-dev/podesta/bench/peers/network"
	"github.com/podesta-dev/podesta/bench/peers/proxy"
	"github.com/podesta-dev/podesta/bench/peers/report"
	"github.com/podesta-dev/podesta/test/register"
)

// stressOptions are the flags of stress.
type stressOptions struct {
	options
	conditions []string
	span       time.Duration
	faults     []string
	apart      time.Duration
	every      time.Duration
}

func (o *stressOptions) known() []system {
	classic := podestaClassic()
	classic.optional = true
	return slices.Concat([]system{podestaGuarded(o.shortest), podestaGuarded(longestLease),
		raftWith(0), raftWith(200 * time.Millisecond), classic}, withServers())
}

// runnable returns those of the systems that run under a condition: who needs servers does only
// where they run.
func runnable(c condition.Condition, systems []system) ([]system, error) {
	some := slices.DeleteFunc(slices.Clone(systems), func(s system) bool {
		return len(s.needs) > 0 && !c.Servers
	})
	if len(some) == 0 {
		return nil, fmt.Errorf("--conditions: what is to be compared needs servers, and %s has none",
			c.Name)
	}
	return some, nil
}

// stress runs all systems at the same time under each condition.
func stress(ctx context.Context, args []string) error {
	var o stressOptions
	known := slices.Concat(ends, interruptions)
	f := o.flagSet("stress")
	f.StringSliceVar(&o.conditions, "conditions", condition.Names(),
		"what the members have to live with")
	f.DurationVar(&o.span, "span", 3*time.Minute, "for how long, each")
	f.StringSliceVar(&o.faults, "faults", nil, "the faults that leaders are struck with, one at a "+
		"time: "+strings.Join(faultNames(known), ", ")+" (none)")
	f.DurationVar(&o.apart, "apart", usuallyApart, "a leader is struck so long after it has begun "+
		"to lead, or was back after the last fault, and thrice that at most")
	f.DurationVar(&o.every, "progress", 10*time.Second, "how often to tell how it goes")
	if err := o.parse(f, args); err != nil {
		return err
	}
	if o.apart < time.Second {
		return fmt.Errorf("--apart %v: a group needs a second to settle", o.apart)
	}
	systems, err := o.choose(o.known())
	if err != nil {
		return err
	}
	var conditions []condition.Condition
	for _, name := range o.conditions {
		c, err := condition.Find(name)
		if err != nil {
			return fmt.Errorf("--conditions: %w", err)
		}
		if _, err := runnable(c, systems); err != nil {
			return err // now, not in an hour
		}
		conditions = append(conditions, c)
	}
	chosen, err := chooseFaults(o.faults, known)
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
	var all []report.Record
	for _, c := range conditions {
		records, err := o.under(ctx, filepath.Join(dir, c.Name), c, systems, chosen)
		if err == nil {
			err = ctx.Err() // a condition that was interrupted is no result
		}
		for i := 0; err == nil && i < len(records); i++ {
			err = o.write(records[i])
		}
		if err != nil {
			report.StressTable(os.Stdout, all)
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		all = append(all, records...)
	}
	report.StressTable(os.Stdout, all)
	return nil
}

// under runs all systems under a condition, with faults, until the span or the context ends.
func (o *stressOptions) under(
	ctx context.Context, dir string, c condition.Condition, systems []system, faults []fault,
) (records []report.Record, err error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if systems, err = runnable(c, systems); err != nil {
		return nil, err
	}
	servers, err := startServers(ctx, dir, systems)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, servers.stop()) }()
	running, err := condition.Begin(c)
	if err != nil {
		return nil, err
	}
	machine, unwatched := lateness.WatchMachine([]string{self, "standstill"})
	if unwatched != nil {
		fmt.Fprintln(os.Stderr, "peers: whether the machine stands still is not known:", unwatched)
	}
	defer machine.End()
	ways, err := beginNetwork(c.Weather != proxy.Weather{} || slices.ContainsFunc(faults,
		func(f fault) bool { return f.network }))
	if err != nil {
		return nil, err
	}
	defer ways.End()
	var runs []*entrant
	defer func() {
		closeAll(runs)
		err = errors.Join(err, running.End())
	}()
	if runs, err = o.enter(ctx, dir, c, systems, servers, ways, running); err != nil {
		return nil, err
	}
	if err := o.watch(ctx, c, runs, faults, func() error {
		return running.Load([]string{self, "loop"})
	}); err != nil {
		return nil, err
	}
	for _, r := range runs {
		record, err := o.judge(r, c, machine, ways)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// enter starts a team of each system, and waits until all are ready, or for as long as patience
// lasts. It returns those that it has started also with an error.
func (o *stressOptions) enter(
	ctx context.Context, dir string, c condition.Condition, systems []system, servers *servers,
	ways *network.Network, running *condition.Running,
) (runs []*entrant, err error) {
	teams, err := o.startTeams(ctx, dir, systems, servers, ways, c.Weather, running)
	for _, t := range teams {
		runs = append(runs, &entrant{
			team:   t,
			usage:  usage{used: map[string]stat{}},
			leases: leases{counts: map[string]float64{}},
		})
	}
	if err != nil {
		return runs, err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, o.patience,
		errors.New("not waited for any longer"))
	defer cancel()
	for _, r := range runs {
		if _, err := r.team.ready(waiting, 2*time.Second); err != nil {
			fmt.Fprintf(os.Stderr, "%s, before the span begins: %v\n", c.Name, err) // that is a result, too
		}
	}
	return runs, nil
}

// closeAll ends all teams, and leaves their books with their logs.
func closeAll(runs []*entrant) {
	for _, r := range runs {
		r.team.close()
		if err := r.team.writeBook(r.from, r.to); err != nil {
			fmt.Fprintln(os.Stderr, "peers:", err) // it is no part of the result
		}
	}
}

// watch lets the span pass, with a line of progress now and then.
func (o *stressOptions) watch(
	ctx context.Context, c condition.Condition, runs []*entrant, faults []fault, load func() error,
) error {
	span, end := context.WithTimeout(ctx, o.span)
	defer end()
	look(ctx, runs)
	for _, r := range runs {
		r.before, r.leases.lapses, r.from = r.usage.total(), 0, register.Now()
	}
	if err := load(); err != nil {
		return err
	}
	var harassing sync.WaitGroup
	if len(faults) > 0 {
		for _, r := range runs {
			harassing.Go(func() {
				// what a leader has used since the last look would be lost with it
				r.team.harass(span, faults, o.apart, func(leader string) {
					r.usage.again(r.team.group(leader))
				})
			})
		}
	}
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	begun, told := time.Now(), time.Now()
	for span.Err() == nil {
		select {
		case <-span.Done():
		case <-ticker.C:
		}
		look(ctx, runs)
		if time.Since(told) >= o.every {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "%s %s, %v of %v: %s\n", told.Format(time.TimeOnly), c.Name,
				time.Since(begun).Round(time.Second), o.span, tell(runs))
		}
	}
	for _, r := range runs {
		r.to = min(register.Now(), r.from.Add(o.span))
	}
	harassing.Wait()
	return nil
}

// tell says how each system does.
func tell(runs []*entrant) string {
	var all []string
	for _, r := range runs {
		f := account.Judge(r.team.book.Entries(), r.from, register.Now())
		leader, ok := r.team.book.Leader()
		if !ok {
			leader = "nobody"
		}
		all = append(all, fmt.Sprintf("%s: %s leads, %d faults, %d spurious, %d lapses",
			r.team.system.name, leader, f.Strikes, len(f.Spurious), f.Lapses))
	}
	return strings.Join(all, "; ")
}
