package agent_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/roster"
)

// The identity outlives a restart, the incarnation grows even if the clock goes back.
func TestMemoryOutlivesARestart(t *testing.T) {
	dir, now := filepath.Join(t.TempDir(), "state"), time.UnixMilli(1_800_000_000_000)
	first := open(t, dir, now)
	if _, err := agent.OpenStateDir(dir, now); err == nil || !strings.Contains(err.Error(), "--state-dir of its own") {
		t.Errorf("a second agent opens it: %v", err)
	}
	shut(t, first)
	second := open(t, dir, now.Add(-time.Hour))
	if first.ID == "" || second.ID != first.ID {
		t.Errorf("identity %q, then %q", first.ID, second.ID)
	}
	if first.Incarnation != 1_800_000_000_000 || second.Incarnation != first.Incarnation+1 {
		t.Errorf("incarnation %d, then %d", first.Incarnation, second.Incarnation)
	}
	if lost := open(t, t.TempDir(), now); lost.ID == first.ID {
		t.Error("two directories have one identity")
	}
}

func open(t *testing.T, dir string, now time.Time) *agent.StateDir {
	t.Helper()
	m, err := agent.OpenStateDir(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() }) // a test may have shut it
	return m
}

func shut(t *testing.T, m *agent.StateDir) {
	t.Helper()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestMemoryKeeps(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir, time.Now())
	if r, err := m.Roster(); r != nil || err != nil {
		t.Errorf("an empty memory has roster %v, %v", r, err)
	}
	want := &roster.Roster{Namespace: "shop", Group: "g", Generation: 3, Algorithm: "Bully", Safety: "Classic", Heartbeat: heartbeat, Timeout: timeout,
		AppHealth: askedAt(8080),
		Processes: []roster.Process{member(1)}}
	if err := m.KeepRoster(want); err != nil {
		t.Fatal(err)
	}
	if err := m.KeepCredentials([]byte("certificate"), []byte("key"), []byte("trust")); err != nil {
		t.Fatal(err)
	}
	if err := m.KeepCredentials(nil, nil, []byte("newer trust")); err != nil {
		t.Fatal(err)
	}
	shut(t, m)
	again := open(t, dir, time.Now())
	if got, err := again.Roster(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("kept %+v, %v", got, err)
	}
	if c, k, trust, err := again.Credentials(); err != nil || string(c) != "certificate" || string(k) != "key" || string(trust) != "newer trust" {
		t.Errorf("kept %q %q %q, %v", c, k, trust, err)
	}
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", f.Name(), info.Mode())
		}
	}
	if err := again.KeepRoster(nil); err != nil {
		t.Fatal(err)
	}
	if r, err := again.Roster(); r != nil || err != nil {
		t.Errorf("a forgotten roster is still there: %v, %v", r, err)
	}
}

func TestDamagedMemory(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir, time.Now())
	for file, text := range map[string]string{"roster.json": "{", "incarnation": "seven"} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.Roster(); err == nil || !strings.Contains(err.Error(), "roster.json") {
		t.Errorf("a damaged roster: %v", err)
	}
	shut(t, m)
	if _, err := agent.OpenStateDir(dir, time.Now()); err == nil || !strings.Contains(err.Error(), "remove the state directory") {
		t.Errorf("a damaged incarnation: %v", err)
	}
}
