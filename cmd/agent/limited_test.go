package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/statedir"
	"github.com/podesta-dev/podesta/test/port"
)

// An agent whose container has a CPU limit finds out how long the kernel may stop it, and says so.
func TestACPULimitOfTheContainer(t *testing.T) {
	pauses := (lease.Burst + 20*time.Millisecond - 1) / (20 * time.Millisecond)
	for limit, want := range map[string]string{
		"20000 100000\n": fmt.Sprintf("delay=%v", pauses*80*time.Millisecond),
		"max 100000\n":   "",
	} {
		lines := untilItFollows(t, limit)
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
func untilItFollows(t *testing.T, limit string) (lines []string) {
	t.Helper()
	root := t.TempDir()
	links := []string{port.Of(t), port.Of(t)}
	for file, text := range map[string]string{
		"proc/self/cgroup":      "0::/\n",
		"proc/self/mountinfo":   "30 24 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
		"sys/fs/cgroup/cpu.max": limit,
		"roster.json": fmt.Sprintf(`{"group": "g", "safety": "Classic", "processes": [
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
	at := func(name string) string { return filepath.Join(root, name) }
	if err := run([]string{"keys", "--roster", at("roster.json"), "--out", root}); err != nil {
		t.Fatal(err)
	}
	o := optionsOf(t, root, at("roster.json"), "b", at("state"), links[1], "127.0.0.1:0")
	dir, err := statedir.Open(o.stateDir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	read, log := io.Pipe()
	s := newSidecar(o, slog.New(slog.NewTextHandler(log, nil)), dir)
	s.machine = root
	if err := s.load(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	listeners, err := openListeners(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = log.CloseWithError(s.run(ctx, listeners)) }()
	follows := false
	in := bufio.NewScanner(read)
	for in.Scan() {
		lines = append(lines, in.Text())
		if strings.Contains(in.Text(), "msg=follows") && !follows {
			follows = true
			stop() // what it says while it ends is read, too
		}
	}
	if err := in.Err(); err != nil || !follows {
		t.Fatalf("it followed somebody: %v; it ended with: %v\n%s", follows, err, strings.Join(lines, "\n"))
	}
	return lines
}
