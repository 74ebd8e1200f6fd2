package main

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
)

// around is the program that a fault strikes, of those that run around the pods.
func (k kind) around() string {
	if k == stopServer {
		return "kube-apiserver"
	}
	return "manager"
}

// running is the process of a program around the pods. It waits while none runs: a manager that was killed, or that ended by itself
// since it could not renew its lease with a paused API server, is started again after a moment.
func (r *runner) running(ctx context.Context, name string) (pid int, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startup, fmt.Errorf("no %s of this cluster runs for %v", name, startup))
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		pid, err := noted(filepath.Join(r.state, name+".pid"))
		if err != nil || descends(r.cluster.PID, pid) {
			return pid, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// noted is the process that a file names; 0 without a file.
func noted(path string) (pid int, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
