// Command node does to the processes of a node what the chaos run asks for, and prints when it did
// so as a line of JSON. It runs inside the nodes of a kind cluster because instants count: `docker
// exec` takes a tenth of a second, more on a busy machine. On the local cluster it only hogs.
//
//	node clock                          what the clock says
//	node strike ID…                     SIGKILL to all processes of these containers
//	node strike --for 2s ID…            SIGSTOP, and SIGCONT after a while
//	node cut --for 2s --table T RULES   drop and count what nftables rules say, and mend it after a
//	                                    while
//	node hog --for 3s                   keep all cores busy
//	node keep FROM… TO                  hard links to all files below, to outlive their pods
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/podesta-dev/podesta/test/chaos/signals"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM,
		syscall.SIGHUP)
	err := newCommand(os.Stdout).ExecuteContext(ctx)
	stop()
	switch {
	case errors.Is(err, errEnded):
		os.Exit(signals.Missed)
	case err != nil:
		os.Exit(1)
	}
}

func newCommand(out io.Writer) *cobra.Command {
	say := func(s history.Signal) error { return json.NewEncoder(out).Encode(s) }
	root := &cobra.Command{
		Use:          "node",
		Short:        "The chaos run's hand inside a node",
		SilenceUsage: true,
	}
	var length time.Duration
	clock := &cobra.Command{
		Use:  "clock",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return say(history.Signal{At: register.Now()})
		},
	}
	strike := &cobra.Command{
		Use:  "strike ID...",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, containers []string) error {
			pids, err := processes(containers)
			if err != nil {
				return err
			}
			s, err := signals.Strike(cmd.Context(), pids, length)
			return errors.Join(err, say(s))
		},
	}
	hog := &cobra.Command{
		Use:  "hog",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at := register.Now()
			burn(cmd.Context(), length)
			return say(history.Signal{At: at, Til: register.Now()})
		},
	}
	table := ""
	cut := &cobra.Command{
		Use:  "cut RULES",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, rules []string) error {
			done, err := cutNetwork(cmd.Context(), table, rules[0], length)
			return errors.Join(err, json.NewEncoder(out).Encode(done))
		},
	}
	cut.Flags().StringVar(&table, "table", "podesta_chaos",
		"the nftables table that the rules are in; it has a chain pre")
	keep := &cobra.Command{
		Use:  "keep FROM... TO",
		Args: cobra.MinimumNArgs(2),
		RunE: func(_ *cobra.Command, dirs []string) error {
			return keepFiles(dirs[:len(dirs)-1], dirs[len(dirs)-1])
		},
	}
	for _, c := range []*cobra.Command{strike, cut, hog} {
		c.Flags().DurationVar(&length, "for", 0, "how long")
	}
	root.AddCommand(clock, strike, cut, hog, keep)
	return root
}

// burn keeps every core busy.
func burn(ctx context.Context, length time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var all sync.WaitGroup
	// twice: the scheduler shares among processes, and the others are many
	for range 2 * runtime.NumCPU() {
		all.Go(func() {
			for ctx.Err() == nil {
			}
		})
	}
	all.Wait()
}
