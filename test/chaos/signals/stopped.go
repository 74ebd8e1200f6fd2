package signals

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// AwaitStopped waits until every thread of a process that was sent a SIGSTOP stands still, or the
// process has ended. It is an error if ctx ends before. A thread goes on for a moment after the
// signal was sent, longer on a busy machine, and may just answer a request.
func AwaitStopped(ctx context.Context, pid int) error {
	again := time.NewTicker(time.Millisecond) // only a parent is told
	defer again.Stop()
	for !stopped(pid) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d does not stand still: %w", pid, ctx.Err())
		case <-again.C:
		}
	}
	return nil
}

// stopped reports whether no thread of a process runs.
func stopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	for _, file := range threads {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// after the name, which may have brackets: T is stopped, Z and X have ended
		state := text[strings.LastIndex(string(text), ") ")+len(") "):]
		if !strings.ContainsAny(string(state[:1]), "TZX") {
			return false
		}
	}
	return true
}
