package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/roster"
)

func recoveriesFlags(f *pflag.FlagSet, o *options) {
	o.safetyFlag(f)
	o.algorithms = election.Algorithms()
	f.IntVar(&o.rounds, "rounds", 10, "how often that happens, per algorithm, size and mode")
}

// recoveries measures groups whose highest process starts 15 to 80 ms before the coordinator is
// killed: from SIGKILL until every survivor names the same new one. In a Classic group that is the
// highest. A Guarded group keeps whom it has elected.
func recoveries(ctx context.Context, o options) error {
	fmt.Println("SIGKILL of the coordinator, 15 to 80 ms after the highest process has started, " +
		"until every survivor names the same new one, in milliseconds:")
	fmt.Println()
	fmt.Println("| algorithm | processes | safety | N | median | p90 | p99 | max | not the highest |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|")
	return o.each(func(algorithm string, size int) error {
		for _, safety := range o.safeties {
			g, err := o.group(ctx, algorithm, safety, size)
			if err != nil {
				return err
			}
			others := 0
			what := fmt.Sprintf("%s, %d processes, %s", algorithm, size, safety)
			took, err := o.repeat(what, func() (time.Duration, error) {
				d, highest, err := g.recoverBeforeKill(ctx)
				if !highest {
					others++
				}
				return d, err
			})
			g.close()
			if err != nil {
				return fmt.Errorf("%s: %w", safety, err)
			}
			fmt.Printf("| %s | %d | %s | %d | %s | %d |\n", algorithm, size, safety, len(took), spread(took),
				others)
		}
		return nil
	})
}

// recoverBeforeKill ends the highest process, starts it again, kills the coordinator just after
// that, and awaits the next one. Then it starts the killed one again.
func (g *group) recoverBeforeKill(
	run context.Context,
) (took time.Duration, highest bool, err error) {
	if _, err := g.ready(run); err != nil {
		return 0, false, err
	}
	ctx, cancel := g.patiently(run)
	defer cancel()
	top := g.names[len(g.names)-1]
	old, err := g.without(ctx, top, func(c string) bool { return c != top })
	if err != nil {
		return 0, false, err
	}
	if err := g.start(run, top); err != nil {
		return 0, false, err
	}
	if err := g.until(ctx,
		time.Now().Add(15*time.Millisecond+rand.N(65*time.Millisecond))); err != nil {
		return 0, false, err
	}
	struck := time.Now()
	if err := terminate(syscall.SIGKILL)(g, old); err != nil {
		return 0, false, err
	}
	next, err := g.named(ctx, old, func(c string) bool {
		return c == top || g.safety == roster.Guarded && c != old
	})
	if err != nil {
		return 0, false, err
	}
	took = time.Since(struck)
	err = revive(run, g, old, nil)
	g.mended = time.Now()
	return took, next == top, err
}

// without kills a process and waits until another one may act and the group is quiet.
func (g *group) without(
	ctx context.Context, gone string, wanted func(string) bool,
) (coordinator string, err error) {
	if err := terminate(syscall.SIGKILL)(g, gone); err != nil {
		return "", err
	}
	_ = g.running[gone].Wait() // it was killed
	if coordinator, err = g.named(ctx, gone, wanted); err != nil {
		return "", err
	}
	if _, err := g.apps.await(ctx, coordinator); err != nil {
		return "", err
	}
	return coordinator, g.until(ctx, time.Now().Add(g.settling()))
}

// named waits until all but one name the same coordinator, one that is wanted.
func (g *group) named(ctx context.Context, gone string, wanted func(string) bool) (string, error) {
	others := slices.DeleteFunc(slices.Clone(g.names), func(n string) bool { return n == gone })
	agreed, err := g.observer.Await(ctx, others, wanted)
	return agreed.Coordinator, err
}
