// Command device has the coordinator of a group use an exclusive device, such as a printer, and
// nobody else. Its acts are fenced: one that was on its way when another process took over is
// refused.
//
//	go run -C examples ./device             three processes with real agents, and faults
//	go run -C examples ./device --unfenced  the same with a device that takes everything
//	device process …                        one process, in its pod
//	device serve --dir DIR                  the device, also that of the other examples
//
// The manifests are in examples/manifests/device.yaml.
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

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/examples/internal/device"
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
	if len(args) > 0 && args[0] == "serve" {
		return serve(ctx, args[1:])
	}
	flags := flag.NewFlagSet("device", flag.ContinueOnError)
	unfenced := flags.Bool("unfenced", false, "have the device take everything")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return play(ctx, os.Stdout, *unfenced)
}

// serve runs a device, and prints its uses and what its checker finds.
func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("device serve", flag.ContinueOnError)
	listen := flags.String("listen", ":8080", "where it is used")
	dir := flags.String("dir", "", "the folder in which it keeps the last turn")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var checker device.Checker
	var last device.Turn
	d, err := device.Open(*dir, func(a device.Act, refused error) {
		switch {
		case refused != nil:
			fmt.Printf("%s is refused: %v\n", a.By, refused)
			return
		case a.Turn != last:
			fmt.Printf("%s uses the device in turn %v\n", a.By, a.Turn)
		}
		last = a.Turn
		checker.Saw(a)
		if err := checker.Verdict(); err != nil {
			fmt.Println(err)
		}
	})
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // the end
	return message.Serve(ctx, *listen, d.Handler())
}

// runProcess runs one process, as a pod does.
func runProcess(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("device process", flag.ContinueOnError)
	name := flags.String("name", "", "this process")
	url := flags.String("device", "", "the URL of the device")
	itsAgent := flags.String("agent", "",
		"the URL of the agent; default: the address in $ELECTOR_PATH")
	pause := flags.Duration("pause", 100*time.Millisecond, "between two acts at the device")
	if err := flags.Parse(args); err != nil {
		return err
	}
	u := user{
		device: device.Client{
			Name:   *name,
			URL:    *url,
			Sender: message.NewSender(devicePatience),
		},
		pause: *pause,
	}
	c := agent.Client{URL: *itsAgent}
	return c.Run(ctx, u.use)
}

// devicePatience is how long a process waits for the device.
const devicePatience = time.Minute

// user uses the device while it coordinates.
type user struct {
	device device.Client
	pause  time.Duration
}

// use uses the device in one turn, until ctx ends. agent.Run calls it under the epoch of the lease.
func (u *user) use(ctx context.Context, epoch agent.Epoch) error {
	fmt.Printf("%s coordinates under epoch %v\n", u.device.Name, epoch)
	turn := device.Turn{Epoch: epoch, Number: 1}
	for line := 1; ; line++ {
		if ctx.Err() != nil { // right before each effect
			return ctx.Err()
		}
		err := u.device.Act(ctx, turn, fmt.Sprintf("line %d", line))
		switch {
		case device.Over(err): // the permission is about to end
			fmt.Printf("%s is refused: %v\n", u.device.Name, err)
			<-ctx.Done()
		case err != nil && ctx.Err() == nil:
			fmt.Printf("%s does not know whether line %d was taken: %v\n", u.device.Name, line, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(u.pause):
		}
	}
}
