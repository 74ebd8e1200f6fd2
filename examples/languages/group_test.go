package languages

import (
	"slices"
	"syscall"
	"testing"

	"github.com/podesta-dev/podesta/examples/internal/group"
)

// replica is what a pod is: an agent and a program.
type replica struct{ agent, app *container }

// startGroup starts replicas p1 to p3 of a Guarded group, each a real agent and the program.
func startGroup(t *testing.T, p program, resource string) map[string]replica {
	t.Helper()
	return startGroupIn(t, syscall.SysProcAttr{}, []string{"RESOURCE=" + resource}, p.command...)
}

// startGroupIn starts the replicas with a command that has such attributes and such an environment.
func startGroupIn(t *testing.T, attr syscall.SysProcAttr, env []string, command ...string) map[string]replica {
	t.Helper()
	g, err := group.New(t.Context(), t.TempDir(), "p1", "p2", "p3")
	if err != nil {
		t.Fatal(err)
	}
	replicas := map[string]replica{}
	for _, m := range g.Members {
		replicas[m.Name] = replica{
			agent: start(t, m.Name+"'s agent", nil, m.AgentCommand().Args...),
			app: startIn(t, m.Name+"'s app", attr,
				slices.Concat(env, []string{"ELECTOR_PATH=" + m.Host + ":4040", "HOSTNAME=" + m.Name}), command...),
		}
	}
	return replicas
}
