package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/observer"
)

// away is how long a coordinator stays away that is killed and started again: less than the
// shortest of the default leases, so its voters are still bound to what it was before.
const away = 50 * time.Millisecond

func restartsFlags(f *pflag.FlagSet, o *options) {
	o.algorithms = election.Algorithms()
	f.IntVar(&o.rounds, "rounds", 20, "how often that happens, per algorithm and size")
}

// restarts measures Guarded groups whose coordinator is killed, and back with its state directory
// before its lease is over: from SIGKILL until an app hears that it may act, be it that of another
// process or of the one that was killed.
func restarts(ctx context.Context, o options) error {
	fmt.Printf("SIGKILL of the coordinator of a Guarded group, started again %v later, "+
		"until an app hears that it may act, in milliseconds; leases of %v to %v:\n\n",
		away, o.shortest, o.lease)
	fmt.Println("| algorithm | processes | N | median | p90 | p99 | max | that of the killed one |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	return o.each(func(algorithm string, size int) error {
		g, err := o.group(ctx, algorithm, roster.Guarded, size)
		if err != nil {
			return err
		}
		defer g.close()
		same := 0
		what := fmt.Sprintf("%s, %d processes", algorithm, size)
		took, err := o.repeat(what, func() (time.Duration, error) {
			d, itself, err := g.restart(ctx)
			if itself {
				same++
			}
			return d, err
		})
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %d | %d | %s | %d |\n", algorithm, size, len(took), spread(took), same)
		return nil
	})
}

// restart kills the coordinator of a group that is quiet, starts it again, and awaits the next
// permission. It reports whether the one that was killed has it.
func (g *group) restart(run context.Context) (took time.Duration, itself bool, err error) {
	old, err := g.ready(run)
	if err != nil {
		return 0, false, err
	}
	ctx, cancel := g.patiently(run)
	defer cancel()
	struck := time.Now()
	if err := terminate(syscall.SIGKILL)(g, old); err != nil {
		return 0, false, err
	}
	_ = g.running[old].Wait() // it was killed
	if err := g.until(ctx, struck.Add(away)); err != nil {
		return 0, false, err
	}
	if err := g.start(run, old); err != nil {
		return 0, false, err
	}
	g.mended = time.Now()
	next, at, err := g.apps.next(ctx, struck)
	if err != nil {
		return 0, false, err
	}
	took, err = observer.After(struck, at)
	return took, next == old, err
}
