package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/bench/peers/account"
	"github.com/podesta-dev/podesta/test/register"
)

// stressOptions are the flags of stress.
type stressOptions struct {
	options
	loops  int
	span   time.Duration
	faults []string
}

func (o *stressOptions) flagSet() *pflag.FlagSet {
	f := o.options.flagSet("stress")
	f.IntVar(&o.loops, "loops", 16, "how many busy loops run beside the members")
	f.DurationVar(&o.span, "span", 10*time.Minute, "for how long")
	f.StringSliceVar(&o.faults, "faults", faultNames(endsOfProcesses()),
		"what leaders are struck with, one at a time")
	return f
}

// stressed is what one system did.
type stressed struct {
	System string `json:"system"`
	account.Figures
	CPU     float64 `json:"cpu"`     // share of a core, from the start of its members
	Crashes int     `json:"crashes"` // of members that nobody killed
}

// endsOfProcesses are the faults of stress. A cut is none: its proxies would wait for a CPU behind
// the busy loops.
func endsOfProcesses() (some []fault) {
	for _, f := range ends {
		if !f.ways {
			some = append(some, f)
		}
	}
	return some
}

// undemanding are the systems that need no servers: those would wait for a CPU, too. They run if
// they are named.
func undemanding() []system {
	all := known()
	for i := range all {
		all[i].optional = all[i].optional || len(all[i].needs) > 0
	}
	return all
}

// stress runs all systems at the same time, beside busy loops, and strikes their leaders.
func stress(ctx context.Context, args []string) error {
	var o stressOptions
	systems, results, err := o.parse(o.flagSet(), args, undemanding)
	if err != nil {
		return err
	}
	faults, err := chooseFaults(o.faults, endsOfProcesses())
	if err != nil {
		return err
	}
	err = o.run(ctx, systems, func(dir string, servers *servers) error {
		results.Stress, err = o.endure(ctx, filepath.Join(dir, "stress"), systems, servers, faults)
		return err
	})
	if err != nil {
		return err
	}
	results.stressTable(os.Stdout)
	describe(os.Stdout, systems)
	return o.write(results)
}

// endure runs all systems for the span.
func (o *stressOptions) endure(
	ctx context.Context, dir string, systems []system, servers *servers, faults []fault,
) ([]stressed, error) {
	teams, err := startTeams(ctx, dir, systems, servers, false)
	defer closeAll(teams)
	if err != nil {
		return nil, err
	}
	for _, t := range teams {
		waiting, cancel := context.WithTimeout(ctx, o.patience)
		_, err := t.ready(waiting, 2*time.Second)
		cancel()
		if err != nil {
			return nil, err
		}
	}
	end, err := busyLoops(o.loops)
	defer end()
	if err != nil {
		return nil, err
	}
	from := register.Now()
	o.strikeAll(ctx, teams, faults)
	to := register.Now()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	end()
	closeAll(teams)
	var all []stressed
	for _, t := range teams {
		all = append(all, stressed{
			System:  t.system.name,
			Figures: account.Judge(t.book.Entries(), from, to),
			CPU:     t.used.Seconds() / time.Since(t.begun).Seconds(),
			Crashes: t.crashes,
		})
	}
	return all, nil
}

// strikeAll strikes the leaders of all teams until the span is over.
func (o *stressOptions) strikeAll(ctx context.Context, teams []*team, faults []fault) {
	ctx, cancel := context.WithTimeout(ctx, o.span)
	defer cancel()
	var all sync.WaitGroup
	for _, t := range teams {
		if len(faults) > 0 {
			all.Go(func() { t.harass(ctx, faults) })
		}
	}
	<-ctx.Done()
	all.Wait()
}

// apart: a fault strikes a leader so long after it has begun to lead, or after the last fault was
// mended, and thrice that at most: late enough for a group to have settled.
const apart = 2 * time.Second

// harass strikes leaders with one of the faults at a time until the context ends. A member that has
// ended is started again at once.
func (t *team) harass(ctx context.Context, faults []fault) {
	for ctx.Err() == nil {
		changed := t.book.Changed()
		leader, ok := t.book.Leader()
		if !ok {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		if !t.reigns(ctx, leader, apart+rand.N(2*apart)) {
			continue
		}
		f := faults[rand.IntN(len(faults))]
		if _, err := f.strike(t, leader); err != nil {
			continue // it has just ended by itself
		}
		if lasts := f.drawn(); lasts > 0 {
			select {
			case <-time.After(lasts):
			case <-ctx.Done():
			}
		}
		if err := f.mend(context.WithoutCancel(ctx), t, leader); err != nil {
			fmt.Fprintf(os.Stderr, "%s, %s: %v\n", t.system.name, leader, err)
		}
	}
}

// reigns waits for so long. It reports false if another member leads before that, or nobody.
func (t *team) reigns(ctx context.Context, leader string, long time.Duration) bool {
	over := time.NewTimer(long)
	defer over.Stop()
	for {
		changed := t.book.Changed()
		if now, ok := t.book.Leader(); !ok || now != leader {
			return false
		}
		select {
		case <-changed:
		case <-over.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// busyLoop has this program use the CPU until its standard input ends.
const busyLoop = "loop"

// busyLoops starts so many, until end is called.
func busyLoops(n int) (end func(), err error) {
	var all []*exec.Cmd
	end = sync.OnceFunc(func() {
		for _, l := range all {
			_ = l.Process.Kill()
			_ = l.Wait() // it was killed
		}
	})
	self, err := os.Executable()
	for range n {
		l := exec.Command(self, busyLoop) //nolint:gosec,noctx // it is this program
		l.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		_, unpiped := l.StdinPipe()
		if err = errors.Join(err, unpiped); err == nil {
			err = l.Start()
		}
		if err != nil {
			return end, err
		}
		all = append(all, l)
	}
	return end, err
}

func loop() {
	n := uint64(os.Getpid()) //nolint:gosec // G115: a process id is positive
	for {
		n = n*6364136223846793005 + 1442695040888963407
		if n == 0 {
			fmt.Fprintln(os.Stderr) // never, but the compiler cannot know
		}
	}
}
