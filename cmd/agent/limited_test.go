//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/test/port"
)

// An agent whose container has a CPU limit finds out how long the kernel may stop it, and says so.
// The test runs one in a root directory of its own, with the files that it reads there.
func TestACPULimitOfTheContainer(t *testing.T) {
	program := filepath.Join(t.TempDir(), "agent")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // there is no library in its root directory
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pauses := (lease.Burst + 20*time.Millisecond - 1) / (20 * time.Millisecond)
	for limit, want := range map[string]string{
		"20000 100000\n": fmt.Sprintf("delay=%v", pauses*80*time.Millisecond),
		"max 100000\n":   "",
	} {
		lines := untilItFollows(t, program, limit)
		said := ""
		for _, line := range lines {
			if strings.Contains(line, "CPU limit") {
				said = line
			}
		}
		if !strings.HasSuffix(said, want) || (want == "") != (said == "") {
			t.Errorf("cpu.max %q: it said %q, want %q; its log:\n%s", limit, said, want,
				strings.Join(lines, "\n"))
		}
	}
}

// untilItFollows runs an agent in a container with this limit, and returns what it logs until it
// follows a coordinator.
func untilItFollows(t *testing.T, program, limit string) (lines []string) {
	t.Helper()
	root := t.TempDir()
	if err := os.Link(program, filepath.Join(root, "agent")); err != nil {
		t.Fatal(err)
	}
	links := []string{port.Of(t), port.Of(t)}
	for file, text := range map[string]string{
		"proc/self/cgroup":      "0::/\n",
		"proc/self/mountinfo":   "30 24 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
		"sys/fs/cgroup/cpu.max": limit,
		"roster.json": fmt.Sprintf(`{"group": "g", "processes": [
			{"name": "a", "address": %q, "priority": 1},
			{"name": "b", "address": %q, "priority": 2}]}`, links[0], links[1]),
	} {
		file = filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := run([]string{"keys", "--roster", filepath.Join(root, "roster.json"), "--out", root}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	agent := exec.CommandContext(ctx, "/agent", "--roster", "/roster.json", "--certificate", "/b.crt",
		"--key", "/b.key", "--trust-file", "/ca.crt", "--state-dir", "/state", "--listen", links[1],
		"--app-address", "127.0.0.1:0", "--status-address", "127.0.0.1:0")
	agent.Dir = "/"
	agent.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		agent.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		agent.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: uid, Size: 1}}
		agent.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: gid, Size: 1}}
	}
	log, err := agent.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil && os.Geteuid() != 0 {
		t.Skipf("this machine lets nobody but root have a root directory of his own: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = agent.Process.Kill()
		_ = agent.Wait() // it was killed
	}()
	for in := bufio.NewScanner(log); in.Scan(); {
		if lines = append(lines, in.Text()); strings.Contains(in.Text(), "msg=follows") {
			return lines
		}
	}
	t.Fatalf("it follows nobody:\n%s", strings.Join(lines, "\n"))
	return nil
}
