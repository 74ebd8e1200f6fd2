package signals

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// errEnded means that a process that was to stand still has ended.
var errEnded = errors.New("it has ended")

// AwaitStopped waits until every thread of a process that was sent a SIGSTOP stands still. It is an
// error if the process ends before, or ctx. A thread goes on for a moment after the signal was
// sent, longer on a busy machine, and may just answer a request.
func AwaitStopped(ctx context.Context, pid int) error {
	again := time.NewTicker(time.Millisecond) // only a parent is told
	defer again.Stop()
	for {
		still, err := stopped(pid)
		switch {
		case err != nil:
			return fmt.Errorf("process %d does not stand still: %w", pid, err)
		case still:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d does not stand still: %w", pid, ctx.Err())
		case <-again.C:
		}
	}
}

// stopped reports whether every thread of a process is stopped.
func stopped(pid int) (bool, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false, err
	}
	alive := 0
	for _, file := range threads {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // this thread has ended
		}
		// after the name, which may have brackets
		switch state := text[bytes.LastIndex(text, []byte(") "))+len(") ")]; state {
		case 'T':
			alive++
		case 'Z', 'X': // this one, too
		default:
			return false, nil
		}
	}
	if alive == 0 {
		return false, errEnded
	}
	return true, nil
}
