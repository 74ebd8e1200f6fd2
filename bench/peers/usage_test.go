package main

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const text = "4242 (a) b (c) S 1 4200 4200 0 -1 4194560 99 0 0 0 120 34 0 0 20 0 9 0 777 1234 55"
	got, err := parseStat(text)
	want := stat{pid: 4242, group: 4200, start: "777", name: "a) b (c", ticks: 154}
	if err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if dead, err := parseStat(strings.Replace(text, " S ", " Z ", 1)); err != nil || !dead.zombie {
		t.Errorf("%+v, %v, want a zombie", dead, err)
	}
	for _, bad := range []string{"", "4242 (a) S 1 2", "4242 a S 1", strings.Replace(text, "4200", "x", 1)} {
		if s, err := parseStat(bad); err == nil {
			t.Errorf("%q: %+v, want an error", bad, s)
		}
	}
}

// What a process has used is known up to the last look at it, and no look at an earlier instant
// takes some of it back.
func TestUsage(t *testing.T) {
	group := syscall.Getpgrp()
	u := usage{used: map[string]stat{}}
	u.again(group)
	if u.total() != 0 {
		t.Errorf("%v of processes that nobody has seen", u.total())
	}
	first := stats()
	u.take(first, []int{group})
	before := u.total()
	for deadline := time.Now().Add(time.Minute); u.total() == before; u.again(group) {
		if time.Now().After(deadline) {
			t.Fatal("this test uses the CPU, and it is not seen")
		}
	}
	after := u.total()
	u.take(first, []int{group})
	if u.total() != after {
		t.Errorf("%v, after %v had been seen", u.total(), after)
	}
	other := usage{used: map[string]stat{}}
	if other.take(first, []int{-1}); other.total() != 0 {
		t.Errorf("%v of nobody's processes", other.total())
	}
}

// One that has ended is counted as it was seen last.
func TestUsageOfTheDead(t *testing.T) {
	p, err := startProcess([]string{"sh", "-c", "while :; do :; done"}, t.TempDir()+"/log")
	if err != nil {
		t.Fatal(err)
	}
	u := usage{used: map[string]stat{}}
	for deadline := time.Now().Add(time.Minute); u.total() == 0; u.take(stats(), []int{p.group}) {
		if time.Now().After(deadline) {
			t.Fatal("it uses the CPU, and that is not seen")
		}
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.wait()
	seen := u.total()
	u.again(p.group)
	u.take(stats(), []int{p.group})
	if u.total() < seen {
		t.Errorf("%v, after %v had been seen", u.total(), seen)
	}
}
