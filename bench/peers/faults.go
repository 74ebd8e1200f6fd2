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
	"github.com/podesta-dev/podesta/test/register"
)

// A fault that lasts is mended after a time between these, drawn before it begins, whoever leads
// meanwhile. If it ended with the failover, its length would be the system's own: a system that
// adapts to the interruptions that it sees would learn from the harness, and each system would be
// struck by another fault.
const faultLeast, faultMost = 2 * time.Second, 30 * time.Second

// A short interruption lasts for between these. One that is shorter than a system's detection comes
// to nothing there: that is what a long detection is good for.
const shortLeast, shortMost = 50 * time.Millisecond, time.Second

// fault is a way in which a leader ends, or is interrupted.
type fault struct {
	name        string
	network     bool          // it needs one between the members
	least, most time.Duration // for how long it lasts, until it is mended; 0: the leader has ended
	strike      func(t *team, leader string, as account.Fault) (register.Instant, error)
	mend        func(ctx context.Context, t *team, leader string) error
}

// drawn is the fault with a time for how long it lasts: each doubling is as likely as the next.
func (f fault) drawn() account.Fault {
	as := account.Fault{Name: f.name}
	if f.most > 0 {
		as.Lasts = time.Duration(float64(f.least) * math.Pow(float64(f.most)/float64(f.least),
			rand.Float64()))
	}
	return as
}

// ends are the ways in which a leader ends.
var ends = []fault{
	{name: "SIGKILL", strike: strikeBy(syscall.SIGKILL), mend: revive},
	{name: "SIGSTOP", least: faultLeast, most: faultMost, strike: stop, mend: resume},
	{name: "SIGTERM", strike: strikeBy(syscall.SIGTERM), mend: revive},
	{
		name: "cut", network: true, least: faultLeast, most: faultMost, strike: cutOff,
		mend: linkAgain,
	},
}

// interruptions are those that a leader may outlast.
var interruptions = []fault{
	{name: "short-SIGSTOP", least: shortLeast, most: shortMost, strike: stop, mend: resume},
	{
		name: "short-cut", network: true, least: shortLeast, most: shortMost, strike: cutOff,
		mend: linkAgain,
	},
}

func strikeBy(s syscall.Signal) func(*team, string, account.Fault) (register.Instant, error) {
	return func(t *team, leader string, as account.Fault) (register.Instant, error) {
		return t.strike(leader, s, as)
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

func stop(t *team, leader string, as account.Fault) (register.Instant, error) {
	at, err := t.signal(leader, syscall.SIGSTOP)
	if err == nil {
		t.noteFault(leader, account.Stopped, at, as)
	}
	return at, err
}

func resume(_ context.Context, t *team, leader string) error {
	at, err := t.signal(leader, syscall.SIGCONT)
	if err == nil {
		t.note(leader, account.Continued, at)
	}
	return err
}

func cutOff(t *team, leader string, as account.Fault) (register.Instant, error) {
	at := register.Now()
	err := t.cut(leader)
	if err == nil {
		t.noteFault(leader, account.Cut, at, as)
	}
	return at, err
}

func linkAgain(_ context.Context, t *team, leader string) error {
	at := register.Now()
	err := t.mend(leader)
	if err == nil {
		t.note(leader, account.Mended, at)
	}
	return err
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
