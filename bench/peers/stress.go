package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/account"
	"github.com/podesta-dev/podesta/test/register"
)

// stressOptions are the flags of stress.
type stressOptions struct {
	options
	loops int
	span  time.Duration
}

// stressed is what one system did.
type stressed struct {
	System string `json:"system"`
	account.Figures
	CPU float64 `json:"cpu"` // share of a core, from the start of its members
}

// undemanding are the systems that need no servers, which would wait for a CPU, too.
func undemanding() []system {
	return slices.DeleteFunc(known(), func(y system) bool { return y.needs != "" })
}

// stress runs all systems at the same time, beside busy loops, and strikes their leaders.
func stress(ctx context.Context, args []string) error {
	var o stressOptions
	f := o.flagSet("stress")
	f.IntVar(&o.loops, "loops", 16, "how many busy loops run beside the members")
	f.DurationVar(&o.span, "span", 10*time.Minute, "for how long")
	systems, results, err := o.parse(f, args, undemanding())
	if err != nil {
		return err
	}
	return o.run(ctx, systems, results, func(dir string, servers *servers) error {
		results.Stress, err = o.endure(ctx, filepath.Join(dir, "stress"), systems, servers)
		results.stressTable(os.Stdout)
		return err
	})
}

// endure runs all systems for the span.
func (o *stressOptions) endure(
	ctx context.Context, dir string, systems []system, servers *servers,
) ([]stressed, error) {
	teams, err := startTeams(ctx, dir, systems, servers, false)
	defer closeAll(teams)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, o.patience)
	defer cancel()
	for _, t := range teams {
		if _, err := t.ready(waiting); err != nil {
			return nil, err
		}
	}
	from := register.Now()
	if err := o.strikeAll(ctx, teams); err != nil {
		return nil, err
	}
	to := register.Now()
	closeAll(teams)
	var all []stressed
	for _, t := range teams {
		all = append(all, stressed{
			System:  t.system.name,
			Figures: account.Judge(t.book.Entries(), from, to),
			CPU:     t.used.Seconds() / time.Since(t.begun).Seconds(),
		})
	}
	return all, nil
}

// strikeAll strikes the leaders of all teams until the span is over.
func (o *stressOptions) strikeAll(ctx context.Context, teams []*team) error {
	span, cancel := context.WithTimeout(ctx, o.span)
	defer cancel()
	for range o.loops {
		if err := exec.CommandContext(span, "sh", "-c", busyLoop).Start(); err != nil {
			return err
		}
	}
	var all sync.WaitGroup
	for _, t := range teams {
		all.Go(func() { t.harass(span) })
	}
	<-span.Done()
	all.Wait()
	return ctx.Err()
}

// busyLoop uses the CPU until its parent ends.
const busyLoop = `while kill -0 $PPID; do i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done; done`

// harass strikes leaders, in one of the ways at a time, until the context ends. A group has had
// time to settle before each fault. A cut is none of them: its proxies would wait for a CPU behind
// the busy loops. A member that has ended is started again at once.
func (t *team) harass(ctx context.Context) {
	faults := slices.DeleteFunc(slices.Clone(ends), func(f fault) bool { return f.ways })
	pause := func(d time.Duration) {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	for pause(settled + rand.N(2*settled)); ctx.Err() == nil; pause(settled + rand.N(2*settled)) {
		leader, ok := t.book.Leader()
		if !ok {
			continue
		}
		f := faults[rand.IntN(len(faults))]
		if _, err := f.strike(t, leader); err != nil {
			continue // it has just ended by itself
		}
		pause(f.drawn())
		if err := f.mend(context.WithoutCancel(ctx), t, leader); err != nil {
			fmt.Fprintf(os.Stderr, "%s, %s: %v\n", t.system.name, leader, err)
		}
	}
}
