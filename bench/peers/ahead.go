package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// How the kernel prefers a thread to all others: it has the most of the CPU, and its turn comes soon.
// (A real-time priority would have its turn come at once. But new threads do not have it, and Go's
// scheduler would let the others wait for them with both CPUs, for up to a second.)
const (
	foremost = -20 // niceness
	slice    = 100 * time.Microsecond
)

// stayAhead has the kernel prefer this program until ctx ends. The proxies are here, which stand for
// the network, and a network does not wait for busy loops. What this program starts is not preferred.
func stayAhead(ctx context.Context) error {
	if err := goAhead(); err != nil {
		return fmt.Errorf("the proxies cannot run before busy loops; run it as root: %w", err)
	}
	go func() {
		again := time.NewTicker(time.Second) // a new thread is a usual one, too
		defer again.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-again.C:
				_ = goAhead() // it could before
			}
		}
	}()
	return nil
}

// goAhead prefers those threads of this program that are not preferred yet.
func goAhead() error {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		attr, err := unix.SchedGetAttr(id, 0)
		if err == nil && attr.Nice != foremost {
			attr.Nice, attr.Runtime = foremost, uint64(slice)
			attr.Flags |= unix.SCHED_FLAG_RESET_ON_FORK // what is forked is as usual
			err = unix.SchedSetAttr(id, attr, 0)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
			return err
		}
	}
	return nil
}
