package main

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/podesta-dev/podesta/examples/internal/group"
)

// replica is what a pod is: an agent and an operator, as processes that can be killed and paused.
type replica struct {
	name     string
	url      string // the agent's
	agent    *exec.Cmd
	operator *exec.Cmd
	ended    chan error // the operator has
}

// startAgents starts the agents of replicas p1 to p3 of a Guarded group, with the app health that the
// guide has for operators. Their operators are not started.
func startAgents(t *testing.T) map[string]*replica {
	t.Helper()
	g, err := group.NewOfSessions(t.Context(), t.TempDir(), "p1", "p2", "p3")
	if err != nil {
		t.Fatal(err)
	}
	replicas := map[string]*replica{}
	for _, m := range g.Members {
		replicas[m.Name] = &replica{name: m.Name, url: m.AgentURL(), agent: start(t, m.AgentCommand(), nil)}
	}
	return replicas
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
