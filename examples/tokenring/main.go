// Command tokenring passes a token round a ring of processes: who has it may use an exclusive
// device. A token gets lost with the process that has it. The coordinator notices that, and
// replaces it exactly once; a token that was only late is refused when it turns up.
//
//	go run -C examples ./tokenring             five processes with real agents, and faults
//	go run -C examples ./tokenring --unfenced  the same with a device that takes everything
//	tokenring process …                        one process of the ring, in its pod
//
// The manifests are in examples/manifests/tokenring.yaml.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/examples/internal/message"
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
	if len(args) > 0 && args[0] == "process" {
		return runProcess(ctx, args[1:])
	}
	flags := flag.NewFlagSet("tokenring", flag.ContinueOnError)
	unfenced := flags.Bool("unfenced", false, "have the device take everything")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return story(ctx, os.Stdout, *unfenced)
}

// runProcess runs one process of the ring, as a pod does.
func runProcess(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("tokenring process", flag.ContinueOnError)
	name := flags.String("name", "", "this process")
	listen := flags.String("listen", ":8080", "where it listens to the others")
	ring := flags.String("ring", "", "all processes in their order, as NAME=HOST:PORT,…")
	device := flags.String("device", "", "the URL of the device")
	url := flags.String("agent", "",
		"the URL of the agent; default: the address in $ELECTOR_PATH")
	pause := flags.Duration("pause", 100*time.Millisecond, "between two acts at the device")
	if err := flags.Parse(args); err != nil {
		return err
	}
	peers, err := message.ParsePeers(*ring)
	if err != nil {
		return err
	}
	p, err := newProcess(*name, peers, *device, *pause)
	if err != nil {
		return err
	}
	c := agent.Client{URL: *url}
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return message.Serve(ctx, *listen, p.handler()) })
	all.Go(func() error { return p.run(ctx) })
	all.Go(func() error { return c.Run(ctx, p.coordinate) })
	return all.Wait()
}
