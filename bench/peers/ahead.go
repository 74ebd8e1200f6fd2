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

// slice is the shortest time slice of Linux (since 6.12). Of the threads that wait, the kernel
// takes one of those first. More would distort what is measured. With the highest niceness others
// waited for longer: beside 4 loops and all systems, one wake-up in a thousand was 8 ms late, and
// not 6. With a real-time priority, Go's scheduler lets threads wait for new ones, which do not
// have it, for up to a second.
const slice = 100 * time.Microsecond

// stayAhead asks for the shortest time slices for this program's threads until ctx ends. The
// proxies are here, which stand for the network, and a network does not wait for busy loops. What
// this program starts has the usual slices. (That is why it does not call internal/timeslice:
// its slices are inherited.)
func stayAhead(ctx context.Context) error {
	if err := goAhead(); err != nil {
		return fmt.Errorf("ask for short time slices, so that the proxies do not wait for busy "+
			"loops; a sandbox may refuse that: %w", err)
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

// goAhead asks for those threads of this program that have other slices.
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
		if err == nil && attr.Runtime != uint64(slice) {
			attr.Runtime = uint64(slice)
			attr.Flags |= unix.SCHED_FLAG_RESET_ON_FORK // what is forked is as usual
			err = unix.SchedSetAttr(id, attr, 0)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) { // it has ended
			return err
		}
	}
	return nil
}
