// Command peers compares Podesta with what people would use instead, with processes on this machine
// and no Kubernetes: hashicorp/raft, client-go's leader election against an API server, and etcd's.
//
//	peers failover   the leader ends in one of four ways: how long until there is a new one
//	peers stress     all systems at once beside busy loops: who keeps its leader
//
// Each prints a table in Markdown. Each member is a process of its own (folder member) and says on
// its standard output when it leads and whom it takes for the leader. The same code measures all
// systems.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/bench/peers/member"
	tethered "github.com/podesta-dev/podesta/hack/cluster/process"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "peers:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		args = []string{"--help"}
	}
	switch name, args := args[0], args[1:]; name {
	case "failover":
		return failover(ctx, args)
	case "stress":
		return stress(ctx, args)
	case "member": // started by the others
		return member.Run(ctx, args)
	case "tether": // see controlplane
		return tethered.Tether(args)
	}
	return errors.New("say what to do: failover or stress (each has --help)")
}
