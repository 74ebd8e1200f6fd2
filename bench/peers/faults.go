package main

import (
	"context"
	"math"
	"math/rand/v2"
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
	ways   bool          // it needs ways between the members that can be cut
	least  time.Duration // for how long it lasts at least, until it is mended; 0: the leader has ended
	strike func(t *team, leader string) (register.Instant, error)
	mend   func(ctx context.Context, t *team, leader string) error
}

// drawn is for how long a fault lasts: each doubling is as likely as the next.
func (f fault) drawn() time.Duration {
	if f.least == 0 {
		return 0
	}
	return time.Duration(float64(f.least) * math.Pow(float64(faultMost)/float64(f.least),
		rand.Float64()))
}

// ends are the ways in which a leader ends.
var ends = []fault{
	{name: "SIGKILL", strike: by(syscall.SIGKILL, account.Killed), mend: revive},
	{name: "SIGSTOP", least: faultLeast, strike: by(syscall.SIGSTOP, account.Stopped), mend: resume},
	{name: "SIGTERM", strike: by(syscall.SIGTERM, account.Killed), mend: revive},
	{name: "cut", ways: true, least: faultLeast, strike: cutOff, mend: linkAgain},
}

func by(s syscall.Signal, does said.Word) func(*team, string) (register.Instant, error) {
	return func(t *team, leader string) (register.Instant, error) { return t.signal(leader, s, does) }
}

// revive starts a leader again that was to end. One that hangs is killed.
func revive(ctx context.Context, t *team, leader string) error {
	hangs := time.AfterFunc(faultMost, func() {
		_, _ = t.signal(leader, syscall.SIGKILL, account.Killed)
	})
	defer hangs.Stop()
	return t.restart(ctx, leader)
}

func resume(_ context.Context, t *team, leader string) error {
	_, err := t.signal(leader, syscall.SIGCONT, account.Continued)
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
