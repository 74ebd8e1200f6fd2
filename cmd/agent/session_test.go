package main

import (
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/statedir"
)

// restarted is an agent that starts with a state directory, and has loaded what that holds.
func restarted(t *testing.T, folder string, flags ...string) *sidecar {
	t.Helper()
	o, err := parse(append([]string{"--manager=127.0.0.1:1"}, flags...))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := statedir.Open(folder, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	s := newSidecar(o, logger(t), dir)
	if err := s.load(); err != nil {
		t.Fatal(err)
	}
	return s
}

// An agent knows after a restart that its app keeps a session, if the app has opened one before.
func TestASessionIsKnownAfterARestart(t *testing.T) {
	folder := t.TempDir()
	save := func(s *sidecar) {
		t.Helper()
		if err := s.save(lease.State{}, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.dir.Close(); err != nil {
			t.Fatal(err)
		}
	}
	first := restarted(t, folder)
	save(first)
	second := restarted(t, folder)
	if first.ledger.Expected() || second.ledger.Expected() {
		t.Error("the app has opened no session, and is to keep one")
	}
	second.ledger.Open().Close()
	save(second)
	for range 2 {
		again := restarted(t, folder)
		if !again.ledger.Expected() {
			t.Error("the app has opened a session, and that is forgotten")
		}
		save(again)
	}
}

// A state directory outside Kubernetes is not as old as a pod, and its next app may be another one.
func TestASessionIsNotKeptWithARosterFile(t *testing.T) {
	s := restarted(t, t.TempDir())
	s.options.roster = "roster.json"
	s.ledger.Open()
	if err := s.save(lease.State{}, nil); err != nil {
		t.Fatal(err)
	}
	if had, err := s.dir.HadSession(); had || err != nil {
		t.Errorf("it is kept: %v, %v", had, err)
	}
}

func TestAppSessionFlag(t *testing.T) {
	if restarted(t, t.TempDir(), "--app-session=").ledger.Expected() {
		t.Error("a pod without the annotation is to keep a session")
	}
	if !restarted(t, t.TempDir(), "--app-session=required").ledger.Expected() {
		t.Error("a pod with the annotation need not keep a session")
	}
	_, err := parse([]string{"--manager=127.0.0.1:1", "--app-session=true"})
	if err == nil || !strings.Contains(err.Error(), "podesta.dev/session") {
		t.Errorf("another value: %v", err)
	}
}
