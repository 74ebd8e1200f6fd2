package languages

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const agentProgram = "../../bin/agent"

// lease is the longest lease of the group, in milliseconds. A permission is 9/11 of that.
const lease = 1000

// replica is what a pod is: an agent and a program.
type replica struct{ agent, app *container }

// group starts replicas p1 to p3 of a Guarded group with real agents, on loopback addresses of
// their own, by a roster file (docs/guides/outside-kubernetes.md).
func group(t *testing.T, p program, resource string) map[string]replica {
	t.Helper()
	if _, err := os.Stat(agentProgram); err != nil {
		t.Skip("run `make build` first: ", err)
	}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	names := []string{"p1", "p2", "p3"}
	host := func(i int) string { return fmt.Sprint(p.network, i+1) }
	var processes []map[string]any
	for i, name := range names {
		id := output(t, "init", "--state-dir", path("state-"+name))
		processes = append(processes, map[string]any{
			"name": name, "uid": name, "priority": i + 1, "voter": true, "stateID": strings.TrimSpace(id),
			"address": host(i) + ":4041",
		})
	}
	roster, err := json.Marshal(map[string]any{
		"namespace": "default", "group": "languages", "generation": 1, "algorithm": "Bully", "safety": "Guarded",
		"heartbeatMilliseconds": 100, "timeoutMilliseconds": 500, "leaseMilliseconds": lease,
		"preemption": map[string]any{"policy": "Never"}, "processes": processes,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path("roster.json"), roster, 0o600); err != nil {
		t.Fatal(err)
	}
	output(t, "keys", "--roster", path("roster.json"), "--out", dir)
	replicas := map[string]replica{}
	for i, name := range names {
		replicas[name] = replica{
			agent: start(t, name+"'s agent", nil, agentProgram, "--roster", path("roster.json"),
				"--certificate", path(name+".crt"), "--key", path(name+".key"), "--trust-file", path("ca.crt"),
				"--state-dir", path("state-"+name), "--listen", host(i)+":4041",
				"--app-address", host(i)+":4040", "--status-address", host(i)+":4042"),
			app: start(t, name+"'s app",
				[]string{"ELECTOR_PATH=" + host(i) + ":4040", "HOSTNAME=" + name, "RESOURCE=" + resource},
				p.command...),
		}
	}
	return replicas
}

// output runs an agent's command.
func output(t *testing.T, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), agentProgram, args...)
	c.Stderr = t.Output()
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v", c, err)
	}
	return string(out)
}
