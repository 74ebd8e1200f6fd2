package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/register/history"
)

// journal keeps what signals were sent, and when. It is safe for concurrent use.
type journal struct {
	mu   sync.Mutex
	sent []history.Signal
}

func (j *journal) add(s history.Signal) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.sent = append(j.sent, s)
}

// kill kills processes, and then calls struck. One that has ended already did so by itself, or as it was asked to.
func (j *journal) kill(pids []int, struck func()) error {
	defer struck()
	for _, pid := range pids {
		j.add(history.Signal{PID: pid, Kill: true, At: register.Now()})
		if err := send(pid, syscall.SIGKILL); err != nil {
			return err
		}
	}
	return nil
}

// pause stops processes for a while, and calls struck when they are stopped. If ctx ends meanwhile the pause ends, too.
func (j *journal) pause(ctx context.Context, pids []int, length time.Duration, struck func()) error {
	var errs []error
	var stopped []history.Signal
	for _, pid := range pids {
		errs = append(errs, send(pid, syscall.SIGSTOP))
		stopped = append(stopped, history.Signal{PID: pid, At: register.Now()})
	}
	struck()
	wait(ctx, length)
	for _, s := range stopped {
		s.Til = register.Now()
		errs = append(errs, send(s.PID, syscall.SIGCONT))
		j.add(s)
	}
	return errors.Join(errs...)
}

func send(pid int, signal syscall.Signal) error {
	if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("%v to process %d: %w", signal, pid, err)
	}
	return nil
}

// wait waits for a while, or until ctx ends.
func wait(ctx context.Context, length time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
}

// descends tells whether a process lives and is a child of that ancestor, or a child's child: no other may ever be sent a signal.
func descends(ancestor, pid int) bool {
	const deep = 4 // what keeps a program running stands between
	for generation := 0; pid > 1 && generation < deep; generation++ {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return false
		}
		_, rest, _ := strings.Cut(string(stat), ") ") // the second field is the name, in parentheses
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[0] == "Z" || fields[0] == "X" {
			return false
		}
		if pid, err = strconv.Atoi(fields[1]); err != nil {
			return false
		}
		if pid == ancestor {
			return true
		}
	}
	return false
}
