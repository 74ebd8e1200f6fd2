package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/pipe"
	"github.com/podesta-dev/podesta/test/port"
	"github.com/podesta-dev/podesta/test/scrape"
)

// agentProcess is an agent that runs by itself.
type agentProcess struct {
	*exec.Cmd
	app, status string
}

// ends waits for its end.
func (p agentProcess) ends(t *testing.T) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("told to end: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it was told to end, and goes on")
	}
}

// get returns what its status port says.
func (p agentProcess) get(t *testing.T, path string) []byte {
	t.Helper()
	response, err := http.Get("http://" + p.status + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v: %s", path, response.Status, err, body)
	}
	return body
}

// startAgents starts a group of three agents. Each is a process, and logs to its file of logs.
func startAgents(t *testing.T, algorithm, safety string, logs map[string]*os.File) map[string]agentProcess {
	t.Helper()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	var processes []map[string]any
	for i, name := range []string{"a", "b", "c"} {
		processes = append(processes, map[string]any{"name": name, "address": port.Of(t),
			"priority": i + 1, "stateID": initialised(t, in("state-"+name))})
	}
	text, err := json.Marshal(map[string]any{"group": "g", "algorithm": algorithm, "safety": safety,
		"processes": processes})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("roster.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"keys", "--roster", in("roster.json"), "--out", dir}); err != nil {
		t.Fatal(err)
	}
	agents := map[string]agentProcess{}
	for _, p := range processes {
		name := p["name"].(string)
		a := agentProcess{app: port.Of(t), status: port.Of(t)}
		a.Cmd = exec.Command(os.Args[0], "--roster", in("roster.json"), "--trust-file", in("ca.crt"),
			"--certificate", in(name+".crt"), "--key", in(name+".key"), "--state-dir", in("state-"+name),
			"--listen", p["address"].(string), "--app-address", a.app, "--status-address", a.status)
		a.Env, a.Stderr = append(os.Environ(), asAgent+"=yes"), logs[name]
		if err := a.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = a.Process.Kill(); _ = a.Wait() })
		agents[name] = a
	}
	return agents
}

// A log that nobody reads stops no agent, whether the log's pipe is full or its reader has ended:
// the group forms and fails over, and its agents answer probes and end at SIGTERM.
func TestALogThatNobodyReads(t *testing.T) {
	for _, algorithm := range []string{"Bully", "StatusTableBully", "LeLann", "ChangRoberts",
		"RingList", "ActiveListRing"} {
		for _, safety := range []string{roster.Classic, roster.Guarded} {
			t.Run(fmt.Sprintf("%s/%s", algorithm, safety), func(t *testing.T) {
				read, full := pipe.Full(t)
				agents := startAgents(t, algorithm, safety, map[string]*os.File{
					"a": full,
					"b": pipe.Ended(t),
					"c": full,
				})
				a, b, c := agents["a"], agents["b"], agents["c"]
				ofA, ofB := follow(t, a.app), follow(t, b.app)
				awaitName(t, ofA, "c")
				awaitName(t, ofB, "c")
				if err := c.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				awaitName(t, ofA, "b")
				awaitName(t, ofB, "b")
				for _, survivor := range []agentProcess{a, b} {
					survivor.get(t, "/healthz")
				}
				families, err := scrape.Parse(b.get(t, "/metrics"))
				if err != nil {
					t.Fatal(err)
				}
				const dropped = "podesta_agent_log_dropped_lines_total"
				if n := families[dropped].GetMetric()[0].GetCounter().GetValue(); n == 0 {
					t.Errorf("%s is 0, and nobody can have read b's log", dropped)
				}
				if err := b.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				b.ends(t)
				if err := a.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
				a.ends(t)
				full.Close()
				left, err := io.ReadAll(read)
				if lines := bytes.TrimLeft(left, "\x00"); err != nil || len(lines) > 0 {
					t.Errorf("the pipe was not full: %q, %v", lines, err)
				}
			})
		}
	}
}
