package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"
)

// A fault strikes a leader so long after it has begun to lead, or after the last fault was mended:
// late enough for a group to have settled.
const soonest, latest = 2 * time.Second, 6 * time.Second

// A fault that lasts is mended after a time between these, drawn before it begins, whoever leads
// meanwhile. If it ended with the failover, its length would be the system's own: a system that
// adapts to the interruptions that it sees would learn from the harness, and each system would be
// struck by another fault. Those that are shorter than a system's detection come to nothing there:
// that is what a long detection is good for.
const faultLeast, faultMost = 2 * time.Second, 30 * time.Second

// lasting draws for how long a fault lasts: each doubling is as likely as the next.
func lasting() time.Duration {
	return time.Duration(float64(faultLeast) *
		math.Pow(float64(faultMost)/float64(faultLeast), rand.Float64()))
}

// harass strikes leaders with one of the faults at a time, until the context ends. Just before that
// it calls before, with the leader's name. A member that has ended is started again at once.
func (t *team) harass(ctx context.Context, faults []fault, before func(leader string)) {
	for ctx.Err() == nil {
		changed := t.book.Changed()
		leader, ok := t.book.Leader()
		if !ok {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		if !t.reigns(ctx, leader, soonest+rand.N(latest-soonest)) {
			continue
		}
		f := faults[rand.IntN(len(faults))]
		before(leader)
		if _, err := f.strike(t, leader, f.name); err != nil {
			continue // it has just ended by itself
		}
		if f.lasts {
			select {
			case <-time.After(lasting()):
			case <-ctx.Done():
			}
		}
		if err := f.mend(context.WithoutCancel(ctx), t, leader); err != nil {
			fmt.Fprintf(os.Stderr, "%s, %s: %v\n", t.system.name, leader, err)
		}
	}
}

// reigns waits for so long. It reports false if another member leads before that, or nobody.
func (t *team) reigns(ctx context.Context, leader string, long time.Duration) bool {
	over := time.NewTimer(long)
	defer over.Stop()
	for {
		changed := t.book.Changed()
		if now, ok := t.book.Leader(); !ok || now != leader {
			return false
		}
		select {
		case <-changed:
		case <-over.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}
