package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// replica is what a pod is: an agent and an operator, as processes that can be killed and paused.
type replica struct {
	name     string
	url      string // the agent's
	agent    *exec.Cmd
	operator *exec.Cmd
	ended    chan error // the operator has
}

const agentProgram = "../../bin/agent"

// group starts the agents of replicas p1 to p3 of a Guarded group, on loopback addresses of their own,
// by a roster file (docs/guides/outside-kubernetes.md). Their operators are not started.
func group(t *testing.T) map[string]*replica {
	t.Helper()
	if _, err := os.Stat(agentProgram); err != nil {
		t.Skip("run `make build` first: ", err)
	}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	names := []string{"p1", "p2", "p3"}
	var processes []map[string]any
	for i, name := range names {
		id := output(t, "init", "--state-dir", path("state-"+name))
		processes = append(processes, map[string]any{
			"name": name, "uid": name, "priority": i + 1, "voter": true, "stateID": strings.TrimSpace(id),
			"address": fmt.Sprintf("127.73.0.%d:4041", i+1),
		})
	}
	roster, err := json.Marshal(map[string]any{
		"namespace": "default", "group": "operator", "generation": 1, "algorithm": "Bully", "safety": "Guarded",
		"heartbeatMilliseconds": 100, "timeoutMilliseconds": 500, "leaseMilliseconds": 1000,
		"preemption": map[string]any{"policy": "Never"}, "processes": processes,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path("roster.json"), roster, 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, "keys", "--roster", path("roster.json"), "--out", dir)
	replicas := map[string]*replica{}
	for i, name := range names {
		host := fmt.Sprintf("127.73.0.%d", i+1)
		r := &replica{name: name, url: "http://" + host + ":4040"}
		r.agent = start(t, exec.Command(agentProgram, "--roster", path("roster.json"),
			"--certificate", path(name+".crt"), "--key", path(name+".key"), "--trust-file", path("ca.crt"),
			"--state-dir", path("state-"+name), "--listen", host+":4041", "--app-address", host+":4040",
			"--status-address", host+":4042"), nil)
		replicas[name] = r
	}
	return replicas
}

// output runs an agent's command.
func output(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.Command(agentProgram, args...)
	c.Stderr = t.Output()
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v", c, err)
	}
	return string(out)
}

// start starts a process that ends with the test.
func start(t *testing.T, c *exec.Cmd, ended chan<- error) *exec.Cmd {
	t.Helper()
	log, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		err := c.Wait()
		if ended != nil {
			ended <- err
		}
		close(over)
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-over
		if text, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("%s:\n%s", c, text[max(0, len(text)-3000):])
		}
		log.Close()
	})
	return c
}
