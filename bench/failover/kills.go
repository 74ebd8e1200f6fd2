package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/podesta-dev/podesta/test/observer"
)

// failovers has what was measured of one group.
type failovers struct {
	named []time.Duration // until every survivor named the same new coordinator
	acted []time.Duration // until the app of that one heard that it may act
}

// kills measures the time from SIGKILL of the coordinator until every survivor names the same new
// one, and until that one may act. Then the killed one is started again, and so on. The groups of
// all agents and safeties are struck by turns, so that whatever else the machine does disturbs all
// alike. All processes of a group start at once: "formed after" is from the first one's start until
// all agree.
func kills(ctx context.Context, o options) error {
	fmt.Printf("From SIGKILL of the coordinator, in milliseconds; profile %s:\n\n", o.profile)
	fmt.Println("| algorithm | processes | safety | agent | formed after | kills " +
		"| every survivor names the new one: median | p90 | p99 | max " +
		"| the new one may act: median | p90 | p99 | max | resident, median agent |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	return o.each(func(plans []plan) error {
		var groups []*group
		for _, p := range plans {
			g, err := newGroup(ctx, p)
			if err != nil {
				return err
			}
			defer g.close()
			if _, err := g.ready(ctx); err != nil { // one forms at a time
				return err
			}
			groups = append(groups, g)
		}
		all := make([]failovers, len(groups))
		for round := range o.kills {
			for i, g := range groups {
				if err := g.kill(ctx, &all[i]); err != nil {
					return fmt.Errorf("%s, kill %d: %w", g.safety, round+1, err)
				}
				fmt.Fprintf(os.Stderr, "\r%s, %d processes, kill %d of %d: %s %s: %s ms   ", g.algorithm,
					g.size, round+1, o.kills, g.safety, g.agent, ms(all[i].acted[round]))
			}
		}
		fmt.Fprintln(os.Stderr)
		for i, g := range groups {
			if _, err := g.ready(ctx); err != nil { // the killed one is back
				return err
			}
			resident, err := g.resident(ctx)
			if err != nil {
				return err
			}
			fmt.Printf("| %s | %d | %s | %s | %s | %d | %s | %s | %.1f MiB |\n", g.algorithm, g.size,
				g.safety, g.agent, g.formed.Round(10*time.Millisecond), o.kills, spread(all[i].named),
				spread(all[i].acted), resident)
		}
		return nil
	})
}

// kill waits until the group is quiet, kills its coordinator, awaits the next one, and starts the
// killed one again.
func (g *group) kill(run context.Context, all *failovers) error {
	old, err := g.ready(run)
	if err != nil {
		return err
	}
	ctx, cancel := g.patiently(run)
	defer cancel()
	g.observer.Forget(old)
	struck := time.Now()
	g.running[old].Kill()
	survivors := slices.DeleteFunc(slices.Clone(g.names), func(n string) bool { return n == old })
	agreed, err := g.observer.Await(ctx, survivors, func(c string) bool { return c != old })
	if err != nil {
		return err
	}
	may, err := g.apps.await(ctx, agreed.Coordinator)
	if err != nil {
		return err
	}
	named, err := agreed.After(struck)
	if err != nil {
		return fmt.Errorf("%s is named: %w", agreed.Coordinator, err)
	}
	acted, err := observer.After(struck, may)
	if err != nil {
		return fmt.Errorf("%s may act: %w", agreed.Coordinator, err)
	}
	all.named, all.acted = append(all.named, named), append(all.acted, acted)
	<-g.running[old].Done()
	g.mended = time.Now()
	return g.start(old)
}
