package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/account"
	"github.com/podesta-dev/podesta/bench/peers/said"
	"github.com/podesta-dev/podesta/test/register"
)

// A fault that lasts is mended after a time between these, drawn before it begins, whoever leads
// meanwhile. If it ended with the failover, its length would be the system's own: a system that
// adapts to the interruptions that it sees would learn from the harness, and each system would be
// struck by another fault.
const faultLeast, faultMost = 2 * time.Second, 30 * time.Second

// fault is a way in which a leader ends.
type fault struct {
	name   string
	ways   bool // it needs ways between the members that can be cut
	lasts  bool // until it is mended; otherwise the leader has ended
	strike func(t *team, leader string) (register.Instant, error)
	mend   func(ctx context.Context, t *team, leader string) error
}

// drawn is for how long a fault lasts: each doubling is as likely as the next.
func (f fault) drawn() time.Duration {
	if !f.lasts {
		return 0
	}
	return time.Duration(float64(faultLeast) * math.Pow(float64(faultMost)/float64(faultLeast),
		rand.Float64()))
}

// ends are the ways in which a leader ends.
var ends = []fault{
	{name: "SIGKILL", strike: strikeBy(syscall.SIGKILL), mend: revive},
	{name: "SIGSTOP", lasts: true, strike: signalBy(syscall.SIGSTOP, account.Stopped), mend: resume},
	{name: "SIGTERM", strike: strikeBy(syscall.SIGTERM), mend: revive},
	{name: "cut", ways: true, lasts: true, strike: cutOff, mend: linkAgain},
}

func strikeBy(s syscall.Signal) func(*team, string) (register.Instant, error) {
	return func(t *team, leader string) (register.Instant, error) { return t.strike(leader, s) }
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

func signalBy(s syscall.Signal, word said.Word) func(*team, string) (register.Instant, error) {
	return func(t *team, leader string) (register.Instant, error) {
		at, err := t.signal(leader, s)
		if err == nil {
			t.note(leader, word, at)
		}
		return at, err
	}
}

func resume(_ context.Context, t *team, leader string) error {
	_, err := signalBy(syscall.SIGCONT, account.Continued)(t, leader)
	return err
}

func cutOff(t *team, leader string) (register.Instant, error) {
	at := register.Now()
	for _, w := range t.waysOf(leader) {
		w.Cut()
	}
	return at, nil
}

func linkAgain(_ context.Context, t *team, leader string) error {
	for _, w := range t.waysOf(leader) {
		w.Mend()
	}
	return nil
}

func faultNames(of []fault) []string {
	names := make([]string, len(of))
	for i, f := range of {
		names[i] = f.name
	}
	return names
}

// chooseFaults returns those of some faults that --faults names.
func chooseFaults(names []string, of []fault) (chosen []fault, err error) {
	for _, name := range names {
		i := slices.IndexFunc(of, func(f fault) bool { return f.name == name })
		if i < 0 {
			return nil, fmt.Errorf("--faults: there is no %q: there are %s", name,
				strings.Join(faultNames(of), ", "))
		}
		chosen = append(chosen, of[i])
	}
	return chosen, nil
}
