package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// acts is a part of the operator that acts while it leads. It holds a lock of the kernel on a file
// for exactly as long: until its context ends, or its process does, however that ends. So of two
// that act at the same time the later one finds the lock taken, and says so in the file.
type acts struct{ file, who string }

// Start acts until ctx ends. As a Runnable it is started when the operator leads.
func (a acts) Start(ctx context.Context) error {
	file, err := os.OpenFile(a.file, os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	line := a.who
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		line += " " + besideAnother
	}
	if _, err := fmt.Fprintln(file, line); err != nil { // one write, at the end: lines do not mix
		return err
	}
	<-ctx.Done()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
}

const besideAnother = "acts beside another one"

// ready says in the same file that a replica runs and would lead if it may.
type ready acts

// NeedLeaderElection has every replica say so.
func (ready) NeedLeaderElection() bool { return false }

// Start says so, once.
func (r ready) Start(context.Context) error {
	file, err := os.OpenFile(r.file, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = fmt.Fprintln(file, r.who, isReady)
	return err
}

const isReady = "is ready"

// newActs makes the file for one test.
func newActs(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "acts")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// oneActedAtATime checks what acts has recorded, and returns how often a replica of each release
// began to act.
func oneActedAtATime(t *testing.T, file string) map[release]int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	began := map[release]int{}
	for line := range strings.Lines(string(text)) {
		who, what, _ := strings.Cut(strings.TrimSpace(line), " ")
		if what == isReady {
			continue
		}
		began[release(who)]++
		if what == besideAnother {
			t.Errorf("two act at once:\n%s", text)
			break
		}
	}
	return began
}

// The checker notices two that act at once.
func TestTwoThatActAtOnceAreNoticed(t *testing.T) {
	file := newActs(t)
	ctx, stop := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { first <- acts{file: file, who: string(byLease)}.Start(ctx) }()
	awaitSaid(t, file, string(byLease), 1)
	second := make(chan error, 1)
	go func() { second <- acts{file: file, who: string(byPodesta)}.Start(ctx) }()
	awaitSaid(t, file, besideAnother, 1)
	stop()
	for _, ended := range []chan error{first, second} {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "Lease\nPodesta "+besideAnother+"\n" {
		t.Errorf("the record is %q (%v)", text, err)
	}
}
