// Command jobs does the jobs in a PostgreSQL table. Of several processes the coordinator does them,
// and each of its results is fenced by its epoch, in the transaction that writes it. So no result
// of a process that was paused is written when another one coordinates.
//
//	go run -C examples ./jobs      three processes with real agents, a PostgreSQL server, and faults
//	jobs process --database URL …  one process, in its pod
//	jobs add --database URL 40     makes the tables, and adds 40 jobs
//
// The first needs the PostgreSQL server's programs (Debian's package postgresql). The manifests are
// in examples/manifests/jobs.yaml.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/client/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0:
		return play(ctx, os.Stdout)
	case args[0] == "process":
		return runProcess(ctx, args[1:])
	case args[0] == "add":
		return runAdd(ctx, args[1:])
	default:
		return fmt.Errorf("%q is neither process nor add", args[0])
	}
}

// runProcess runs one process, as a pod does.
func runProcess(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("jobs process", flag.ContinueOnError)
	name := flags.String("name", "", "this process")
	database := flags.String("database", os.Getenv("DATABASE_URL"),
		"the URL of the database; default: $DATABASE_URL")
	url := flags.String("agent", "",
		"the URL of the agent; default: the address in $ELECTOR_PATH")
	takes := flags.Duration("takes", 100*time.Millisecond, "how long a job takes at least")
	if err := flags.Parse(args); err != nil {
		return err
	}
	s, err := connect(*database, *name)
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // the end
	r := runner{
		name:  *name,
		store: s,
		takes: *takes,
	}
	return r.run(ctx, &agent.Client{URL: *url, Report: r.stopped})
}

// runAdd adds jobs.
func runAdd(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("jobs add", flag.ContinueOnError)
	database := flags.String("database", os.Getenv("DATABASE_URL"),
		"the URL of the database; default: $DATABASE_URL")
	if err := flags.Parse(args); err != nil {
		return err
	}
	n, err := strconv.Atoi(flags.Arg(0))
	if err != nil || n < 1 {
		return fmt.Errorf("say how many jobs to add: %q is no number above 0", flags.Arg(0))
	}
	s, err := connect(*database, "jobs add")
	if err != nil {
		return err
	}
	defer s.Close() //nolint:errcheck // the end
	return s.add(ctx, n)
}
