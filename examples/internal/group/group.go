// Package group runs a Guarded group on this machine, without a cluster: real agents with a roster
// file (docs/guides/outside-kubernetes.md), on loopback addresses of their own, and an app beside
// each. They are processes that can be killed, paused and started again.
//
// It is for the examples and their tests, and needs Linux: there every address in 127.0.0.0/8 is
// the machine's own.
package group

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// Lease is the longest lease of a group: twice the default, because the machine may be busy.
const Lease = 2 * time.Second

// Window is for how long an app may act, at most, after its agent has asked for the lease: 9/11 of
// it, so that one whose clock is 10 % slow stops before the others count 10 % too fast.
const Window = Lease * 9 / 11

// Group is the group.
type Group struct {
	Members []*Member // in the order of their priorities, the lowest first

	dir   string
	agent string // the program
	app   func(*Member) *exec.Cmd
}

// New prepares a group with members of these names. Keys, state directories and logs are in dir.
func New(ctx context.Context, dir string, names ...string) (*Group, error) {
	return newGroup(ctx, dir, nil, names)
}

// NewOfSessions prepares a group as New does. Only those of its members are candidates whose app
// has a session.
func NewOfSessions(ctx context.Context, dir string, names ...string) (*Group, error) {
	return newGroup(ctx, dir, map[string]any{"session": map[string]any{}}, names)
}

func newGroup(
	ctx context.Context, dir string, appHealth map[string]any, names []string,
) (*Group, error) {
	agent, err := program(ctx, dir)
	if err != nil {
		return nil, err
	}
	g := &Group{dir: dir, agent: agent}
	network := nextNetwork()
	for i, name := range names {
		m := &Member{
			Name:  name,
			Host:  fmt.Sprint(network, i+1),
			group: g,
		}
		g.Members = append(g.Members, m)
	}
	return g, g.prepare(ctx, appHealth)
}

var networks atomic.Uint32

func init() { networks.Store(rand.Uint32()) } // beside the groups of other programs

// nextNetwork returns the begin of the addresses of a group, as in 127.73.1., which no other group
// of this program has.
func nextNetwork() string {
	n := networks.Add(1)
	return fmt.Sprintf("127.%d.%d.", 64+n>>8%64, n%256)
}

// program returns bin/agent if `make build` has made it, or else an agent that it builds in dir.
func program(ctx context.Context, dir string) (string, error) {
	module, err := output(ctx, "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	// this module is in the folder examples
	root := filepath.Dir(filepath.Dir(strings.TrimSpace(module)))
	built := filepath.Join(root, "bin", "agent")
	if _, err := os.Stat(built); err == nil {
		return built, nil
	}
	built = filepath.Join(dir, "agent")
	_, err = output(ctx, "go", "build", "-C", root, "-o", built, "./cmd/agent")
	return built, err
}

// prepare makes the state directories, the roster that names them, and the keys.
func (g *Group) prepare(ctx context.Context, appHealth map[string]any) error {
	var processes []map[string]any
	for i, m := range g.Members {
		id, err := output(ctx, g.agent, "init", "--state-dir", m.stateDir())
		if err != nil {
			return err
		}
		processes = append(processes, map[string]any{
			"name":     m.Name,
			"uid":      m.Name,
			"priority": i + 1,
			"voter":    true,
			"stateID":  strings.TrimSpace(id),
			"address":  m.Host + ":4041",
		})
	}
	roster, err := json.Marshal(map[string]any{
		"namespace":  "default",
		"group":      "example",
		"generation": 1,
		"algorithm":  "Bully",
		"safety":     "Guarded",
		"timing": map[string]any{
			"profile":                  "Fast",
			"timeoutMilliseconds":      Lease.Milliseconds() / 2,
			"leaseMaximumMilliseconds": Lease.Milliseconds(),
		},
		"preemption": map[string]any{"policy": "Never"},
		"appHealth":  appHealth,
		"processes":  processes,
	})
	if err != nil {
		return err
	}
	file := g.file("roster.json")
	if err := os.WriteFile(file, roster, 0o600); err != nil {
		return err
	}
	_, err = output(ctx, g.agent, "keys", "--roster", file, "--out", g.dir)
	return err
}

func (g *Group) file(name string) string { return filepath.Join(g.dir, name) }

// Start starts all members, each with the app that the function makes for it.
func (g *Group) Start(app func(*Member) *exec.Cmd) error {
	g.app = app
	for _, m := range g.Members {
		if err := m.Start(); err != nil {
			return err
		}
	}
	return nil
}

// Close ends all members.
func (g *Group) Close() {
	for _, m := range g.Members {
		m.Kill()
	}
}

// Member returns the member of this name, or nil.
func (g *Group) Member(name string) *Member {
	for _, m := range g.Members {
		if m.Name == name {
			return m
		}
	}
	return nil
}

// Addresses returns the name and the address of each member, as in p1=127.73.0.1:8080,p2=….
func (g *Group) Addresses() string {
	var all []string
	for _, m := range g.Members {
		all = append(all, m.Name+"="+m.Address())
	}
	return strings.Join(all, ",")
}

// Logs writes the end of each member's log.
func (g *Group) Logs(out io.Writer) {
	for _, m := range g.Members {
		m.Log(out)
	}
}

// output runs a command and returns what it prints.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var out, said strings.Builder
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // go and the agent
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w", cmd, err), errors.New(said.String()))
	}
	return out.String(), nil
}
