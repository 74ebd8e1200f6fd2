package main

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/register"
)

// sleeper starts a child that does nothing.
func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

func TestOnlyLiveDescendantsAreHit(t *testing.T) {
	c := sleeper(t)
	me, pid := os.Getpid(), c.Process.Pid
	if !descends(me, pid) || !descends(os.Getppid(), pid) || descends(me, me) || descends(pid, pid) || descends(1<<30, pid) {
		t.Error("the sleeper is a child of this process, and so of its parent, and of no other; this process is none of its own")
	}
	if err := new(journal).kill([]int{pid}, func() {}); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	if descends(me, pid) {
		t.Error("a child that has ended is alive")
	}
}

// A pause is noted from after the SIGSTOP to before the SIGCONT, a kill before it: so that no time is noted in which the process may
// have acted, or not have.
func TestSignalsAreNoted(t *testing.T) {
	c := sleeper(t)
	pid := c.Process.Pid
	j := new(journal)
	before := register.Now()
	var stopped register.Instant
	if err := j.pause(t.Context(), []int{pid}, 20*time.Millisecond, func() { stopped = register.Now() }); err != nil {
		t.Fatal(err)
	}
	after := register.Now()
	cut, cancel := context.WithCancel(t.Context())
	if err := j.pause(cut, []int{pid}, time.Hour, cancel); err != nil { // it ends with its context
		t.Fatal(err)
	}
	if err := j.kill([]int{pid}, func() {}); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil || len(j.sent) != 3 {
		t.Fatalf("it ended with %v; noted: %+v", err, j.sent)
	}
	s, k := j.sent[0], j.sent[2]
	if s.Kill || s.PID != pid || s.At < before || s.At > stopped || s.Til.Sub(s.At) < 20*time.Millisecond || s.Til > after {
		t.Errorf("the pause: %+v, between %d and %d", s, before, after)
	}
	if !k.Kill || k.PID != pid || k.At < after {
		t.Errorf("the kill: %+v", k)
	}
	if err := j.kill([]int{pid}, func() {}); err != nil {
		t.Errorf("a process that has ended: %v", err)
	}
}
