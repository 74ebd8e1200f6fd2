package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/chaos/signals"
	"github.com/podesta-dev/podesta/test/register"
)

// patience is how long a program around the pods may be away before its fault comes.
const patience = 90 * time.Second

// StrikeProgram kills or pauses a program around the pods. It returns when another process is the
// one that was killed.
func (b *Backend) StrikeProgram(
	ctx context.Context, p backend.Program, length time.Duration,
) (register.Instant, error) {
	if p == backend.Leader { // there is one manager
		p = backend.Managers
	}
	pid, err := b.process(ctx, p, 0)
	if err != nil {
		return register.Now(), err
	}
	s, err := signals.Strike(ctx, []int{pid}, length)
	if err == nil && length == 0 {
		_, err = b.process(ctx, p, pid)
	}
	return s.At, err
}

// process returns the process of a program, if it is not the one before. It waits while none runs:
// a manager that was killed, or that ended by itself because it could not renew its lease with a
// paused API server, is started again after a moment.
func (b *Backend) process(ctx context.Context, p backend.Program, before int) (pid int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience,
		fmt.Errorf("no %s of this cluster runs for %v", p, patience))
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		pid, err := noted(filepath.Join(b.Dir, string(p)+".pid"))
		if err != nil || pid != before && descends(b.running.PID, pid) {
			return pid, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// noted returns the process that a file names; 0 without a file, or while it is being written.
func noted(path string) (pid int, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
