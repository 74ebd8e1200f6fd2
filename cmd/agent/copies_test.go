package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/podesta-dev/podesta/test/observer"
	"github.com/podesta-dev/podesta/test/port"
)

// staticAgent is an agent that a roster file describes.
type staticAgent struct {
	app  string
	log  *logged
	stop func() // as SIGTERM does; waits for its end
}

// logged keeps what an agent logs.
type logged struct {
	mu    sync.Mutex
	lines bytes.Buffer
	added chan struct{}
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.added <- struct{}{}:
	default:
	}
	return l.lines.Write(line)
}

// await waits for an ERROR that contains all of these words.
func (l *logged) await(t *testing.T, words ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		l.mu.Lock()
		text := l.lines.String()
		l.mu.Unlock()
		for line := range strings.Lines(text) {
			if containsAll(line, append(words, "level=ERROR")) {
				return
			}
		}
		select {
		case <-l.added:
		case <-ctx.Done():
			t.Fatalf("no ERROR with %q:\n%s", words, text)
		}
	}
}

func containsAll(line string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(line, word) {
			return false
		}
	}
	return true
}

// startStatic starts an agent, with an app address of its own.
func startStatic(t *testing.T, keys, file, name, stateDir, link string) *staticAgent {
	t.Helper()
	a := &staticAgent{app: port.Of(t), log: &logged{added: make(chan struct{}, 1)}}
	o := optionsOf(t, keys, file, name, stateDir, link, a.app)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := serve(ctx, o, slog.New(slog.NewTextHandler(a.log, nil))); ctx.Err() == nil {
			t.Errorf("%s has ended: %v", name, err)
		}
	}()
	a.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	t.Cleanup(a.stop)
	return a
}

// follows waits until the agent tells its app to follow that process. A stream that ends is opened
// again.
func (a *staticAgent) follows(t *testing.T, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	found := false
	for !found && ctx.Err() == nil {
		one, enough := context.WithCancel(ctx)
		_ = observer.Follow(one, a.app, func(e observer.Event) {
			if e.Coordinator == want {
				found = true
				enough()
			}
		})
		enough()
	}
	if !found {
		a.log.mu.Lock()
		defer a.log.mu.Unlock()
		t.Fatalf("it does not follow %s:\n%s", want, a.log.lines.String())
	}
}

// classic writes a roster file with a and b, of which b has the higher priority.
func classic(t *testing.T, dir string, links []string) (file string) {
	t.Helper()
	return rosterFile(t, dir, "roster.json", fmt.Sprintf(`{"group": "g", "safety": "Classic", "processes": [
		{"name": "a", "address": %q, "priority": 1},
		{"name": "b", "address": %q, "priority": 2}]}`, links[0], links[1]))
}

// rosterFile writes a roster file, and the keys for it.
func rosterFile(t *testing.T, dir, name, text string) (file string) {
	t.Helper()
	file = filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"keys", "--roster", file, "--out", dir}); err != nil {
		t.Fatal(err)
	}
	return file
}

// A file was changed on one machine, without a new generation: each agent says which process has
// another one, and in which field.
func TestRosterFilesOfOneGenerationThatDiffer(t *testing.T) {
	dir := t.TempDir()
	links := []string{port.Of(t), port.Of(t)}
	states := []string{filepath.Join(dir, "state-a"), filepath.Join(dir, "state-b")}
	ids := []string{initialised(t, states[0]), initialised(t, states[1])}
	for field, files := range map[string][2]string{
		"safety":                          {`"safety": "Guarded"`, `"safety": "Classic"`},
		"timing.leaseMaximumMilliseconds": {`"safety": "Guarded"`, `"timing": {"leaseMaximumMilliseconds": 2000}`},
		"timing.leaseMinimumMilliseconds": {`"safety": "Guarded"`, `"timing": {"profile": "Fast"}`},
		"algorithm":                       {`"algorithm": "Bully"`, `"algorithm": "LeLann"`},
		"processes.priority":              {`"generation": 2`, `"generation": 2`},
	} {
		t.Run(field, func(t *testing.T) {
			names := []string{"a", "b"}
			var paths [2]string // all are there before an agent starts: both have keys of one folder
			for i, name := range names {
				priorities := [2]int{1, 2}
				if field == "processes.priority" {
					priorities[1-i] = 0 // each file ranks its own process highest
				}
				paths[i] = rosterFile(t, dir, name+".json", fmt.Sprintf(`{"group": "g", %s, "processes": [
					{"name": "a", "address": %q, "stateID": %q, "priority": %d},
					{"name": "b", "address": %q, "stateID": %q, "priority": %d}]}`,
					files[i], links[0], ids[0], priorities[0], links[1], ids[1], priorities[1]))
			}
			var agents [2]*staticAgent
			for i, name := range names {
				agents[i] = startStatic(t, dir, paths[i], name, states[i], links[i])
			}
			agents[0].log.await(t, "same generation", "process=b", "field="+field)
			agents[1].log.await(t, "same generation", "process=a", "field="+field)
			for _, a := range agents {
				a.stop()
			}
		})
	}
}

// A second copy of a process runs for a while. The first one says so, and is heard again when the
// copy has ended.
func TestACopyOfAProcess(t *testing.T) {
	dir := t.TempDir()
	links := []string{port.Of(t), port.Of(t)}
	file := classic(t, dir, links)
	b := startStatic(t, dir, file, "b", filepath.Join(dir, "state-b"), links[1])
	b.follows(t, "b")
	a := startStatic(t, dir, file, "a", filepath.Join(dir, "state-a"), links[0])
	a.follows(t, "b")

	second := startStatic(t, dir, file, "a", filepath.Join(dir, "state-copy"), "127.0.0.1:0")
	second.follows(t, "a") // what b says goes to the address of the first
	a.log.await(t, "another copy of this process")
	second.log.await(t, "another copy of this process")
	a.follows(t, "a") // it is not heard any more
	second.stop()
	a.follows(t, "b")
	a.log.await(t, "starting again", "b has heard incarnation")
}
