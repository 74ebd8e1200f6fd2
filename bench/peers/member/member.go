// Package member runs one process of each system that is compared. Each says on its standard output
// whom it takes for the leader and when it leads itself (package said), logs on its standard error,
// and hands over, if its system can, when it is told to end by SIGTERM.
package member

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/bench/peers/said"
)

// Run runs a member until the context ends, which is at SIGTERM, or until its standard input ends:
// with the program that has started it, which holds the other end, and whatever kills that.
func Run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("say which member to run")
	}
	run, ok := map[string]func(context.Context, []string, *said.Speaker) error{
		"podesta":   podesta,
		"raft":      raftMember,
		"client-go": clientGo,
		"etcd":      etcd,
	}[args[0]]
	if !ok {
		return fmt.Errorf("no member is named %q", args[0])
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	return run(ctx, args[1:], said.NewSpeaker(os.Stdout))
}

// flags are those of every member.
func flags(system string, id *string) *pflag.FlagSet {
	f := pflag.NewFlagSet("peers member "+system, pflag.ContinueOnError)
	f.StringVar(id, "id", "", "the member's name")
	return f
}

// pause waits a little before another attempt.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
