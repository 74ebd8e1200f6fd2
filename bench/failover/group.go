package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/podesta-dev/podesta/test/witness"
)

// group is a group of agents that run as processes on loopback addresses of their own.
type group struct {
	binary, dir string
	names       []string
	running     map[string]*exec.Cmd
	witness     *witness.Witness
}

// patience is how long a step may take before the measurement is given up.
const patience = time.Minute

func newGroup(ctx context.Context, binary, algorithm string, size int) (*group, error) {
	dir, err := os.MkdirTemp("", "failover-")
	if err != nil {
		return nil, err
	}
	g := &group{binary: binary, dir: dir, running: map[string]*exec.Cmd{}, witness: witness.New()}
	type member struct {
		Name     string `json:"name"`
		Address  string `json:"address"`
		Priority int    `json:"priority"`
	}
	var members []member
	for i := range size {
		name := fmt.Sprintf("p%d", i+1)
		g.names = append(g.names, name)
		members = append(members, member{name, g.host(name) + ":4041", i + 1})
	}
	roster, err := json.Marshal(map[string]any{"group": "failover", "algorithm": algorithm, "processes": members})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(g.path("roster.json"), roster, 0o600); err != nil {
		return nil, err
	}
	keys := exec.CommandContext(ctx, binary, "keys", "--roster", g.path("roster.json"), "--out", dir) //nolint:gosec // the user names the program
	if out, err := keys.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s keys: %w\n%s", binary, err, out)
	}
	for _, name := range g.names {
		if err := g.start(ctx, name); err != nil {
			g.close()
			return nil, err
		}
	}
	return g, nil
}

func (g *group) path(name string) string { return filepath.Join(g.dir, name) }

// host is the loopback address of a process.
func (g *group) host(name string) string { return "127.71.0." + strings.TrimPrefix(name, "p") }

func (g *group) start(ctx context.Context, name string) error {
	host := g.host(name)
	log, err := os.OpenFile(g.path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the agent has its own descriptor
	//nolint:gosec // the user names the program
	c := exec.CommandContext(ctx, g.binary, "--roster", g.path("roster.json"), "--certificate", g.path(name+".crt"), "--key", g.path(name+".key"),
		"--trust-file", g.path("ca.crt"), "--state-dir", g.path("state-"+name),
		"--listen", host+":4041", "--app-address", host+":4040", "--status-address", host+":4042")
	c.Stderr = log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return err
	}
	g.running[name] = c
	g.witness.Watch(name, host+":4040")
	return nil
}

// failover waits until all agree, kills the coordinator, and tells how long the survivors took to agree on another one. At
// the end the killed one runs again.
func (g *group) failover(run context.Context) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(run, patience)
	defer cancel()
	before, err := g.witness.Await(ctx, g.names, func(c string) bool { return c == g.names[len(g.names)-1] })
	if err != nil {
		return 0, err
	}
	if err := g.settle(ctx); err != nil {
		return 0, err
	}
	victim := g.running[before.Coordinator]
	survivors := slices.DeleteFunc(slices.Clone(g.names), func(n string) bool { return n == before.Coordinator })
	g.witness.Forget(before.Coordinator)
	killed := time.Now()
	if err := victim.Process.Kill(); err != nil {
		return 0, err
	}
	after, err := g.witness.Await(ctx, survivors, func(c string) bool { return c != before.Coordinator })
	if err != nil {
		return 0, err
	}
	_ = victim.Wait() // it was killed
	return after.At.Sub(killed), g.start(run, before.Coordinator)
}

// settle lets a few heartbeats pass after an agreement, so that what is measured begins in a quiet group, as it does in
// production. There is no event to await: quiet is the absence of events.
func (g *group) settle(ctx context.Context) error {
	select {
	case <-time.After(500 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *group) close() {
	g.witness.Close()
	for _, c := range g.running {
		_ = c.Process.Kill()
	}
	for _, c := range g.running {
		_ = c.Wait()
	}
	_ = os.RemoveAll(g.dir)
}
