// Command failover measures how fast a group has a new coordinator: it starts agents as processes on this machine, with no
// manager and no Kubernetes, kills the coordinator with SIGKILL, and waits until every survivor names the same new one. Then
// it starts the killed one again and waits until all agree, and so on.
//
//	go run ./bench/failover --agent bin/agent --kills 50
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"

	"github.com/spf13/pflag"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "failover:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	f := pflag.NewFlagSet("failover", pflag.ContinueOnError)
	binary := f.String("agent", "bin/agent", "the agent's program")
	algorithms := f.StringSlice("algorithms", []string{"Bully", "StatusTableBully", "LeLann", "ChangRoberts", "RingList", "ActiveListRing"}, "the algorithms to measure")
	sizes := f.IntSlice("processes", []int{5, 20}, "the sizes of groups")
	kills := f.Int("kills", 50, "how often the coordinator is killed, per algorithm and size")
	idle := f.Duration("idle", 10*time.Second, "how long a quiet group is watched for its CPU, per algorithm and size")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *kills < 1 {
		return errors.New("--kills: must be at least 1")
	}
	fmt.Println("SIGKILL of the coordinator until every survivor names the same new one, in milliseconds:")
	fmt.Println()
	fmt.Println("| algorithm | processes | kills | median | p90 | p99 | max | resident, median agent | CPU when quiet, median agent | and coordinator |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	for _, algorithm := range *algorithms {
		for _, size := range *sizes {
			r, err := measure(ctx, *binary, algorithm, size, *kills, *idle)
			if err != nil {
				return fmt.Errorf("%s, %d processes: %w", algorithm, size, err)
			}
			fmt.Printf("| %s | %d | %d | %s | %s | %s | %s | %.1f MiB | %.2f %% | %.2f %% |\n", algorithm, size, len(r.took),
				ms(r.quantile(0.5)), ms(r.quantile(0.9)), ms(r.quantile(0.99)), ms(r.quantile(1)), r.resident, r.cpu.median, r.cpu.coordinator)
		}
	}
	return nil
}

// result is what one group gave.
type result struct {
	took     []time.Duration // sorted
	resident float64         // median resident memory of an agent, MiB
	cpu      load            // of a quiet group
}

// quantile is the nearest rank.
func (r result) quantile(q float64) time.Duration {
	i := int(q*float64(len(r.took))+0.5) - 1
	return r.took[min(max(i, 0), len(r.took)-1)]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d.Microseconds())/1000) }

// measure kills the coordinator of a new group again and again.
func measure(ctx context.Context, binary, algorithm string, size, kills int, idle time.Duration) (r result, err error) {
	g, err := newGroup(ctx, binary, algorithm, size)
	if err != nil {
		return r, err
	}
	defer g.close()
	for i := range kills {
		took, err := g.failover(ctx)
		if err != nil {
			return r, fmt.Errorf("kill %d: %w", i+1, err)
		}
		r.took = append(r.took, took)
		fmt.Fprintf(os.Stderr, "\r%s, %d processes: kill %d of %d took %s ms   ", algorithm, size, i+1, kills, ms(took))
	}
	fmt.Fprintln(os.Stderr)
	slices.Sort(r.took)
	r.resident = g.resident()
	r.cpu, err = g.idle(ctx, idle)
	return r, err
}
