package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/account"
	"github.com/podesta-dev/podesta/test/register"
)

// fault is a way in which a leader ends.
type fault struct {
	name    string
	network bool // it needs one between the members
	lasts   bool // until it is mended; else the leader has ended
	strike  func(t *team, leader, fault string) (register.Instant, error)
	mend    func(ctx context.Context, t *team, leader string) error
}

// least returns for how long the fault lasts at least.
func (f fault) least() time.Duration {
	if f.lasts {
		return faultLeast
	}
	return 0
}

var faults = []fault{
	{"SIGKILL", false, false, strikeBy(syscall.SIGKILL), revive},
	{
		"SIGSTOP", false, true,
		func(t *team, leader, fault string) (register.Instant, error) {
			at, err := t.signal(leader, syscall.SIGSTOP)
			if err == nil {
				t.noteFault(leader, account.Stopped, at, fault)
			}
			return at, err
		},
		func(_ context.Context, t *team, leader string) error {
			at, err := t.signal(leader, syscall.SIGCONT)
			if err == nil {
				t.note(leader, account.Continued, at)
			}
			return err
		},
	},
	{"SIGTERM", false, false, strikeBy(syscall.SIGTERM), revive},
	{
		"cut", true, true,
		func(t *team, leader, fault string) (register.Instant, error) {
			at := register.Now()
			err := t.cut(leader)
			if err == nil {
				t.noteFault(leader, account.Cut, at, fault)
			}
			return at, err
		},
		func(_ context.Context, t *team, leader string) error {
			at := register.Now()
			err := t.mend(leader)
			if err == nil {
				t.note(leader, account.Mended, at)
			}
			return err
		},
	},
}

func strikeBy(s syscall.Signal) func(*team, string, string) (register.Instant, error) {
	return func(t *team, leader, fault string) (register.Instant, error) {
		return t.strike(leader, s, fault)
	}
}

// revive starts a leader again that was to end. One that hangs is killed.
func revive(ctx context.Context, t *team, leader string) error {
	waiting, cancel := context.WithTimeout(ctx, faultMost)
	defer cancel()
	err := t.restart(waiting, leader)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if _, err := t.signal(leader, syscall.SIGKILL); err != nil {
		return err
	}
	return t.restart(ctx, leader)
}

func faultNames() []string {
	names := make([]string, len(faults))
	for i, f := range faults {
		names[i] = f.name
	}
	return names
}

func chooseFaults(names []string) (chosen []fault, err error) {
	for _, name := range names {
		i := slices.IndexFunc(faults, func(f fault) bool { return f.name == name })
		if i < 0 {
			return nil, fmt.Errorf("--faults: there is no %q: there are %s", name,
				strings.Join(faultNames(), ", "))
		}
		chosen = append(chosen, faults[i])
	}
	return chosen, nil
}
