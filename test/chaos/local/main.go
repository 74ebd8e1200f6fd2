// Command chaos runs groups on the local cluster and does to them what clusters do: kills, pauses, deletions, no manager, no API
// server. In every pod an app writes to a fenced register whenever its agent says that it may. At the end the register's log,
// the apps' traces and the agents' logs are checked: in the Guarded group no two apps were told at once that they may act, and
// epochs never went back. A Classic group suffers the same faults, and what became of it is reported beside.
//
//	make chaos-local DURATION=1h
//
// It needs bin/ (make build, and bin/register) and KUBEBUILDER_ASSETS (bin/cluster assets). The faults are drawn from a seed that
// is printed; when they strike depends on the machine, so a seed repeats the faults and not the run.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/register"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		stop()
		os.Exit(1)
	}
}

type options struct {
	repository, state string
	duration, lease   time.Duration
	seed              uint64
	algorithm         string
	safeties          []string
	processes         int
	keep              bool
}

func parse(args []string) (options, error) {
	var o options
	f := pflag.NewFlagSet("chaos", pflag.ContinueOnError)
	f.SortFlags = false
	f.DurationVar(&o.duration, "duration", 4*time.Minute, "how long the whole run takes, about")
	f.Uint64Var(&o.seed, "seed", rand.Uint64(), "what the faults are drawn from")
	f.StringSliceVar(&o.safeties, "safety", []string{string(v1.Guarded), string(v1.Classic)}, "the groups to run, one of each safety")
	f.StringVar(&o.algorithm, "algorithm", string(v1.Bully), "the groups' election algorithm")
	f.DurationVar(&o.lease, "lease", time.Second, "the Guarded group's lease; pauses take 0.5 to 3 of it")
	f.IntVar(&o.processes, "processes", 5, "in each group")
	f.StringVar(&o.repository, "repository", ".", "root of the source tree, with bin/ and config/")
	f.StringVar(&o.state, "dir", "", "directory for the cluster and the logs (default a new one, removed if all is well)")
	f.BoolVar(&o.keep, "keep", false, "keep the logs also if all is well")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if o.processes < 3 {
		return o, errors.New("--processes: must be at least 3, or a group survives no fault")
	}
	for _, s := range o.safeties {
		if s != string(v1.Guarded) && s != string(v1.Classic) {
			return o, fmt.Errorf("--safety %q: must be %s or %s", s, v1.Guarded, v1.Classic)
		}
	}
	return o, nil
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.state == "" {
		if o.state, err = os.MkdirTemp("", "podesta-chaos-"); err != nil {
			return err
		}
	}
	if o.state, err = filepath.Abs(o.state); err != nil {
		return err
	}
	r := &runner{options: o, begun: register.Now(), random: rand.New(rand.NewPCG(o.seed, 0)), view: &view{}, journal: &journal{}, out: &table{out: out}}
	fmt.Fprintf(out, "chaos: %v, seed %d, %s, %d processes a group, lease %v\n", o.duration, o.seed, o.algorithm, o.processes, o.lease)
	err = r.run(ctx)
	if err == nil && !o.keep {
		return os.RemoveAll(o.state)
	}
	fmt.Fprintln(out, "chaos: the logs are in", o.state)
	return err
}

// serve serves a handler on a free port until the returned function is called.
func serve(ctx context.Context, h http.Handler) (address string, stop func(), err error) {
	l, err := listen(ctx)
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l) // it ends when it is closed
	}()
	return l.Addr().String(), func() { _ = server.Close(); <-ended }, nil
}
