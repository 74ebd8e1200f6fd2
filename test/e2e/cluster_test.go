package e2e

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/chaos/signals"
)

// managerPID is the manager's process; 0 while it is down.
func managerPID(t *testing.T) int {
	t.Helper()
	return pidOf(t, state, "manager")
}

// pidOf is the process of a program of the cluster with that directory; 0 while it is down.
func pidOf(t *testing.T, state, program string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(state, program+".pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// killProgram kills a program of the cluster that all tests use, and returns the process that it
// was.
func killProgram(t *testing.T, program string) (pid int) {
	t.Helper()
	return killProgramOf(t, state, program)
}

// killProgramOf is killProgram on the cluster with that directory.
func killProgramOf(t *testing.T, state, program string) (pid int) {
	t.Helper()
	if pid = pidOf(t, state, program); pid <= 1 {
		t.Fatalf("%s does not run: there is nothing to kill", program)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("%s, process %d: %v", program, pid, err)
	}
	return pid
}

// restarted waits until another manager than the old one runs, on the cluster that all tests use.
func restarted(t *testing.T, old int) {
	t.Helper()
	startedAgain(t, state, old)
}

// startedAgain waits until another manager than the old one runs on the cluster with that
// directory.
func startedAgain(t *testing.T, state string, old int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond) // there is nobody who could say
	defer again.Stop()
	for pid := old; pid == 0 || pid == old; pid = pidOf(t, state, "manager") {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatal("no manager was started again")
		}
	}
}

// stands has processes stand still until resume is called, or the test ends.
func stands(t *testing.T, pids ...int) (resume func()) {
	t.Helper()
	resume = sync.OnceFunc(func() {
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been ended meanwhile
		}
	})
	t.Cleanup(resume)
	within, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, pid := range pids {
		if pid <= 1 {
			t.Fatalf("process %d is none that could stand still", pid)
		}
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
		if err := signals.AwaitStopped(within, pid); err != nil {
			t.Fatal(err)
		}
	}
	return resume
}

// parentOf is the process that started another one.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	parent, err := strconv.Atoi(fields[1])
	if err != nil || parent <= 1 {
		t.Fatalf("process %d: %q: %v", pid, text, err)
	}
	return parent
}

// pass waits for an instant: what is awaited is that nothing happens until then.
func pass(t *testing.T, then time.Time) {
	t.Helper()
	select {
	case <-time.After(time.Until(then)):
	case <-t.Context().Done():
	}
}

// silent fails if the group's API server answers: then nothing was tried.
func (g *group) silent() {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), 2*time.Second)
	defer cancel()
	if eg, err := g.Read(ctx); err == nil {
		g.t.Fatalf("the control plane is to be away, and answers: %+v", eg.Status)
	}
}
