package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"syscall"
	"time"
)

// A leader is killed so long after it has begun to lead: late enough for a group to have settled.
const soonest, latest = 2 * time.Second, 6 * time.Second

// harass kills leaders and starts them again at once, until the context ends.
func (t *team) harass(ctx context.Context) {
	for ctx.Err() == nil {
		leader, ok := t.book.Leader()
		if !ok {
			select {
			case <-t.book.Changed():
			case <-ctx.Done():
			}
			continue
		}
		if !t.reigns(ctx, leader, soonest+rand.N(latest-soonest)) {
			continue
		}
		if _, err := t.strike(leader, syscall.SIGKILL); err != nil {
			continue // it has just ended by itself
		}
		if err := t.restart(ctx, leader); err != nil && ctx.Err() == nil {
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
