// Command agent is the sidecar that runs elections. Each pod of a group has one.
//
//	agent --manager HOST:PORT --token-file F --trust-file F
//	    joins with the pod's token, and gets its roster and certificate from the manager
//	agent --roster FILE --certificate F --key F --trust-file F
//	    runs without a manager, outside Kubernetes
//	agent init --state-dir DIR
//	    makes a state directory and prints its ID, for the rosters of Guarded groups without a
//	    manager
//	agent keys --roster FILE --out DIR
//	    creates the certificates for agents without a manager
//	agent idle
//	    does nothing until it is told to end: the container beside the agent of a witness
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/podesta-dev/podesta/internal/logqueue"
	"github.com/podesta-dev/podesta/internal/memlimit"
)

// version is set by the build.
var version = "development"

// stayModest sets what Go may use, unless GOMAXPROCS or GOGC says otherwise.
//
// Go code runs on one thread at a time. An agent handles one small message after another. To wake a
// second thread for a part of that costs more than it saves: a third of the CPU of a group at rest,
// and no failover is faster with it (measurements.md).
//
// Go collects garbage when there is half as much as there is memory in use. By default (100 %) it
// lets the heap grow to 4 MiB first, and an agent uses 1 or 2 MiB.
func stayModest() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(1)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
}

func main() {
	stayModest()
	err := memlimit.FromEnvironment()
	if err == nil {
		err = run(os.Args[1:])
	}
	failed := err != nil && !errors.Is(err, pflag.ErrHelp)
	if failed {
		fmt.Fprintln(logqueue.Stderr(), "agent:", err)
	}
	logqueue.Stderr().Flush()
	if failed {
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if len(args) > 0 {
		switch args[0] {
		case "keys":
			return keys(args[1:])
		case "init":
			return initialise(args[1:])
		case "idle":
			return idle(ctx, args[1:])
		}
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.showVersion {
		fmt.Println(version)
		return nil
	}
	if o.installLead != "" {
		if err := installLead(o.installLead); err != nil {
			return err
		}
	}
	logger := slog.New(slog.NewTextHandler(logqueue.Stderr(),
		&slog.HandlerOptions{Level: o.logLevel}))
	slog.SetDefault(logger) // for what libraries log, too
	return serve(ctx, o, logger)
}
