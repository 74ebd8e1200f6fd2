// Command mutex has a coordinator grant an exclusive device to one process after the other: ENTER,
// GRANT, RELEASE, and a queue of those that wait. The queue survives the coordinator, because each
// process keeps its place in it, a ticket, and shows it to the next coordinator.
//
//	go run -C examples ./mutex             five processes with real agents, and faults
//	go run -C examples ./mutex --unfenced  the same with a device that takes everything
//	mutex process …                        one process, in its pod
//
// The manifests are in examples/manifests/mutex.yaml.
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
	flags := flag.NewFlagSet("mutex", flag.ContinueOnError)
	unfenced := flags.Bool("unfenced", false, "have the device take everything")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return story(ctx, os.Stdout, *unfenced)
}

// runProcess runs one process, as a pod does.
func runProcess(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("mutex process", flag.ContinueOnError)
	name := flags.String("name", "", "this process")
	listen := flags.String("listen", ":8080", "where it listens to the others")
	all := flags.String("processes", "", "all processes, as NAME=HOST:PORT,…")
	device := flags.String("device", "", "the URL of the device")
	url := flags.String("agent", agent.DefaultURL, "the agent of this process")
	pause := flags.Duration("pause", 100*time.Millisecond, "between two acts at the device")
	if err := flags.Parse(args); err != nil {
		return err
	}
	peers, err := message.ParsePeers(*all)
	if err != nil {
		return err
	}
	p, err := newProcess(*name, peers, *device, *pause)
	if err != nil {
		return err
	}
	c := agent.Client{URL: *url}
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return message.Serve(ctx, *listen, p.handler()) })
	parts.Go(func() error { return c.Watch(ctx, p.follow) })
	parts.Go(func() error { return p.run(ctx) })
	parts.Go(func() error { return c.Run(ctx, p.coordinate) })
	return parts.Wait()
}
