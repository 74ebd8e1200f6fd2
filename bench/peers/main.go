// Command peers compares Podesta with what people would use instead, with processes on this machine
// and no Kubernetes: hashicorp/raft, client-go's leader election against an API server, and etcd's.
//
//	peers failover   the leader ends in one of four ways: how long until there is a new one
//	peers stress     all systems at once on a machine that makes life hard: who keeps its leader
//	peers report     the page and the plots from what these two have written with --json
//
// Each member is a process of its own (folder member) and says on its standard output when it leads
// and whom it takes for the leader. What is measured is the same for all, by the same code.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/bench/peers/condition"
	"github.com/podesta-dev/podesta/bench/peers/lateness"
	"github.com/podesta-dev/podesta/bench/peers/member"
	"github.com/podesta-dev/podesta/bench/peers/network"
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
	name := ""
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	switch name {
	case "failover":
		return failover(ctx, args)
	case "stress":
		return stress(ctx, args)
	case "report":
		return makeReport(args)
	case "member": // started by the others
		return member.Run(ctx, args)
	case tether:
		return tethered.Tether(args)
	case between:
		return network.Main(ctx)
	case "standstill":
		return lateness.Main(args)
	case "loop":
		go condition.Loop()
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}
	return errors.New("say what to do: failover, stress or report (each has --help)")
}
