package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"
)

// fault is a way in which a coordinator ends.
type fault struct {
	name   string
	strike func(g *group, coordinator string) error
	mend   func(ctx context.Context, g *group, coordinator string, t *trial) error
}

// faults are all of them: of the agent, and of the app beside an agent that lives on.
var faults = [...]fault{
	{"SIGKILL", terminate(syscall.SIGKILL), revive},
	{"SIGSTOP", func(g *group, c string) error { return g.signal(c, syscall.SIGSTOP) }, wake},
	{"SIGTERM", terminate(syscall.SIGTERM), revive},
	{
		"app dies",
		func(g *group, c string) error {
			g.apps.end(c)
			return nil
		},
		func(ctx context.Context, g *group, c string, _ *trial) error {
			g.apps.start(ctx, c, g.app(c))
			return nil
		},
	},
}

func faultNames() []string {
	names := make([]string, len(faults))
	for i, f := range faults {
		names[i] = f.name
	}
	return names
}

func findFault(name string) (fault, error) {
	for _, f := range faults {
		if f.name == name {
			return f, nil
		}
	}
	return fault{}, fmt.Errorf("no fault is named %q: there are %s", name,
		strings.Join(faultNames(), ", "))
}

// terminate ends an agent by a signal.
func terminate(s syscall.Signal) func(*group, string) error {
	return func(g *group, c string) error {
		g.observer.Forget(c)
		return g.signal(c, s)
	}
}

// revive waits until an agent has ended, and starts it again.
func revive(ctx context.Context, g *group, c string, _ *trial) error {
	_ = g.running[c].Wait() // how it ended was the fault's choice
	return g.start(ctx, c)
}
