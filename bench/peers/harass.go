package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// usuallyApart: a fault strikes a leader so long after it has begun to lead, or after the last
// fault was mended, and thrice that at most: late enough for a group to have settled.
const usuallyApart = 2 * time.Second

// harass strikes leaders with one of the faults at a time, at least so far apart, until the context
// ends. Just before that it calls before, with the leader's name. A member that has ended is
// started again at once.
func (t *team) harass(
	ctx context.Context, faults []fault, apart time.Duration, before func(leader string),
) {
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
		if !t.reigns(ctx, leader, apart+rand.N(2*apart)) {
			continue
		}
		f := faults[rand.IntN(len(faults))]
		before(leader)
		as := f.drawn()
		if _, err := f.strike(t, leader, as); err != nil {
			continue // it has just ended by itself
		}
		if as.Lasts > 0 {
			select {
			case <-time.After(as.Lasts):
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
