package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// A fault strikes a leader so long after it has begun to lead, or after the last fault was mended:
// late enough for a group to have settled.
const soonest, latest = 2 * time.Second, 6 * time.Second

// A fault that lasts is mended when another member leads, or after faultMost, but not before
// faultLeast. If it ended with the failover, its length would be the system's own: a system that
// adapts to the interruptions that it sees would learn from the harness, and each system from
// another fault.
const faultLeast, faultMost = 2 * time.Second, 30 * time.Second

// harass strikes leaders with one of the faults at a time, until the context ends. Just before that
// it calls before. A member that has ended is started again at once.
func (t *team) harass(ctx context.Context, faults []fault, before func()) {
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
		before()
		if _, err := f.strike(t, leader, f.name); err != nil {
			continue // it has just ended by itself
		}
		over := time.After(f.least())
		if f.lasts {
			t.succeeded(ctx, leader)
		}
		select {
		case <-over:
		case <-ctx.Done():
		}
		if err := f.mend(context.WithoutCancel(ctx), t, leader); err != nil {
			fmt.Fprintf(os.Stderr, "%s, %s: %v\n", t.system.name, leader, err)
		}
	}
}

// succeeded waits until another member leads, and no longer than a fault lasts.
func (t *team) succeeded(ctx context.Context, leader string) {
	ctx, cancel := context.WithTimeout(ctx, faultMost)
	defer cancel()
	for ctx.Err() == nil {
		changed := t.book.Changed()
		if now, ok := t.book.Leader(); ok && now != leader {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
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
