package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A process that is killed takes those with it that it has started, and has ended when they have.
func TestProcessEndsWithItsGroup(t *testing.T) {
	if err := adopt(); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	p, err := startProcess([]string{"sh", "-c", "echo logged >&2; echo said; sleep 1000 & wait"}, log)
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(p.says).ReadString('\n')
	if err != nil || line != "said\n" {
		t.Errorf("%q, %v", line, err)
	}
	begun := time.Now()
	if err := p.signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.wait()
	if err := syscall.Kill(-p.group, 0); err == nil || time.Since(begun) >= patience {
		t.Errorf("after %v: %v, want that nobody is left", time.Since(begun), err)
	}
	if p.signal(syscall.SIGKILL) == nil {
		t.Error("it has ended, and takes a signal")
	}
	if text, err := os.ReadFile(log); err != nil || !strings.Contains(string(text), "logged") {
		t.Errorf("the log is %q, %v", text, err)
	}
}

// One that leaves by itself is told from one that crashes.
func TestProcessFails(t *testing.T) {
	for _, c := range []struct {
		command string
		fails   bool
	}{{"true", false}, {"false", true}} {
		p, err := startProcess([]string{c.command}, filepath.Join(t.TempDir(), "log"))
		if err != nil {
			t.Fatal(err)
		}
		if p.wait(); p.failed != c.fails {
			t.Errorf("%s: failed %v", c.command, p.failed)
		}
	}
}
