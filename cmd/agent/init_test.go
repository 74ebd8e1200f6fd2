package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/test/port"
)

// initialised runs `agent init`, and returns the ID that it prints.
func initialised(t *testing.T, dir string) string {
	t.Helper()
	return printed(t, "init", "--state-dir", dir)
}

// printed runs a subcommand, and returns what it prints.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = write
	err = run(args)
	os.Stdout = stdout
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(text), "\n")
}

// What `agent keys` prints of a roster file, `agent init` prints of a copy of it.
func TestTheDigestOfARosterFileIsPrinted(t *testing.T) {
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	id := initialised(t, state)
	file := static(t, dir, []string{port.Of(t), port.Of(t)}, id, "of-b")
	said := printed(t, "keys", "--roster", file, "--out", dir)
	_, digest, ok := strings.Cut(said, "\nroster file: generation 1, digest ")
	if !ok || len(digest) != 16 {
		t.Errorf("keys: %q", said)
	}
	want := id + "\nroster file: generation 1, digest " + digest
	if got := printed(t, "init", "--state-dir", state, "--roster", file); got != want {
		t.Errorf("init: %q, want %q", got, want)
	}
}

// static writes a Guarded roster of the processes a and b, with these state IDs.
func static(t *testing.T, dir string, links []string, stateIDs ...string) (file string) {
	t.Helper()
	file = filepath.Join(dir, "roster.json")
	text := fmt.Sprintf(
		`{"group": "g", "safety": "Guarded", "processes": [
			{"name": "a", "address": %q, "priority": 1, "stateID": %q},
			{"name": "b", "address": %q, "priority": 2, "stateID": %q}]}`,
		links[0], stateIDs[0], links[1], stateIDs[1],
	)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func optionsOf(t *testing.T, dir, file, name, stateDir, link, app string) options {
	t.Helper()
	o, err := parse([]string{
		"--roster", file,
		"--certificate", filepath.Join(dir, name+".crt"),
		"--key", filepath.Join(dir, name+".key"),
		"--trust-file", filepath.Join(dir, "ca.crt"),
		"--state-dir", stateDir,
		"--listen", link,
		"--app-address", app,
		"--status-address", "127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// A Guarded group without a manager: `agent init`, the IDs that it prints in the roster, `agent
// keys`, and two agents. An ID is what the directory is known by: it stays the same.
func TestGuardedWithoutAManager(t *testing.T) {
	dir := t.TempDir()
	states := []string{filepath.Join(dir, "state-a"), filepath.Join(dir, "state-b")}
	ids := []string{initialised(t, states[0]), initialised(t, states[1])}
	if again := initialised(t, states[0]); again != ids[0] || again == ids[1] || again == "" {
		t.Fatalf("IDs %q, and %q again", ids, again)
	}
	links := []string{port.Of(t), port.Of(t)}
	file := static(t, dir, links, ids...)
	if err := run([]string{"keys", "--roster", file, "--out", dir}); err != nil {
		t.Fatal(err)
	}
	apps := []string{port.Of(t), port.Of(t)}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 2)
	for i, name := range []string{"a", "b"} {
		o := optionsOf(t, dir, file, name, states[i], links[i], apps[i])
		go func() { done <- serve(ctx, o, logger(t)) }()
	}
	awaitName(t, follow(t, apps[0]), "b")
	stop()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// T5: a voter of a Guarded group that has another state directory than its roster says, or none
// there, has forgotten what it promised: the agent does not start, and says what to do.
func TestStateDirectoryThatTheRosterDoesNotName(t *testing.T) {
	dir := t.TempDir()
	links := []string{port.Of(t), port.Of(t)}
	nameless := static(t, dir, links, "", "")
	err := run([]string{"keys", "--roster", nameless, "--out", dir})
	if err == nil || !strings.Contains(err.Error(), "`agent init --state-dir DIR`") {
		t.Errorf("voters without a state ID: %v", err)
	}
	id := initialised(t, filepath.Join(dir, "state-a"))
	file := static(t, dir, links, id, "of-b")
	if err := run([]string{"keys", "--roster", file, "--out", dir}); err != nil {
		t.Fatal(err)
	}
	for _, lost := range []string{"state-a", "never-was"} {
		state := filepath.Join(dir, lost)
		if err := os.RemoveAll(state); err != nil {
			t.Fatal(err)
		}
		o := optionsOf(t, dir, file, "a", state, "127.0.0.1:0", "127.0.0.1:0")
		err := serve(t.Context(), o, logger(t))
		if err == nil || !strings.Contains(err.Error(), id) ||
			!strings.Contains(err.Error(), "another uid and the stateID") {
			t.Errorf("%s: %v", lost, err)
		}
	}
}
