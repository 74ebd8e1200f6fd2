package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/stage"
)

// Agents and managers of two releases, the newer of which supports rules level 2 (MC11): upgraded,
// agents first; the manager rolled back alone; then all rolled back. The programs are the real
// ones, and the newer ones are of this tree with one number changed.
func TestRulesLevels(t *testing.T) {
	t.Parallel()
	programs := t.TempDir()
	older, newer := filepath.Join(programs, "older"), filepath.Join(programs, "newer")
	buildWith(t, older, nil)
	buildWith(t, newer, map[string]string{"internal/lease/rules.go": "const Rules = 1 -> const Rules = 2"})
	in := installation{t: t, dir: t.TempDir()}
	in.install(older, "manager")
	in.install(older, "agent")
	state := t.TempDir()
	cluster, err := stage.Up(t.Context(), root, state, os.Stderr, "--bin", in.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	g := newGroupOn(t, state, "rules-level")
	g.found(v1.Guarded, 3)
	g.agree("scheduler-2")
	g.shows("scheduler-2")
	g.chronicle() // epochs grow, and none belongs to two, whatever comes

	in.install(newer, "agent")
	g.roll(3)
	g.level(1)
	g.handsOver()

	in.install(newer, "manager")
	g.restartManager()
	g.await("rules level 2", ofLevel(2))
	g.await("every process to use its roster", reconciled)
	g.handsOver()

	in.install(older, "manager")
	g.restartManager()
	g.await("the older manager to say that it makes no roster", func(eg *v1.ElectionGroup) bool {
		return reasonOf(eg, v1.ConditionStalled) == "ManagerOutdated"
	})
	g.level(2)
	g.handsOver() // elections go on

	in.install(newer, "manager")
	g.restartManager()
	g.await("a manager that supports the level", func(eg *v1.ElectionGroup) bool {
		return reasonOf(eg, v1.ConditionStalled) != "ManagerOutdated" && reconciled(eg)
	})
	in.install(older, "agent")
	g.roll(3)
	g.await("rules level 1 again", ofLevel(1))
	in.install(older, "manager")
	g.restartManager()
	g.await("every process to use its roster", reconciled)
	g.level(1)
	g.handsOver()
}

// installation is what the cluster starts: programs that can be replaced.
type installation struct {
	t   *testing.T
	dir string
}

// install has the cluster start a program of a release from now on.
func (in installation) install(release, program string) {
	in.t.Helper()
	link := filepath.Join(in.dir, program)
	if err := os.Symlink(filepath.Join(release, program), link+".next"); err != nil {
		in.t.Fatal(err)
	}
	if err := os.Rename(link+".next", link); err != nil {
		in.t.Fatal(err)
	}
}

// buildWith builds manager and agent into a directory, with edits "OLD -> NEW" of files of this
// tree.
func buildWith(t *testing.T, dir string, edits map[string]string) {
	t.Helper()
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	replaced := map[string]string{}
	for file, edit := range edits {
		before, after, _ := strings.Cut(edit, " -> ")
		text, err := os.ReadFile(filepath.Join(top, file))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(text), before) != 1 {
			t.Fatalf("%s does not have %q once", file, before)
		}
		changed := filepath.Join(t.TempDir(), filepath.Base(file))
		if err := os.WriteFile(changed, []byte(strings.Replace(string(text), before, after, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		replaced[filepath.Join(top, file)] = changed
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "grpcnotrace", "-overlay", file, "-o", dir+"/", "./cmd/manager", "./cmd/agent")
	build.Dir, build.Env = top, append(os.Environ(), "CGO_ENABLED=0")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
}

// roll replaces the group's n pods one after another.
func (g *group) roll(n int) {
	g.t.Helper()
	for i := range n {
		g.must(g.deletePod(g.t.Context(), g.podName(i)))
		g.running(n - 1)
		g.add(i, i)
		g.running(n)
		g.voting(n)
	}
}

// handsOver kills the agent of the coordinator, and waits until another process coordinates under a
// higher epoch, and all is well again.
func (g *group) handsOver() {
	g.t.Helper()
	before := g.read().Status.Coordinator
	if before == nil {
		g.t.Fatal("the status names no coordinator")
	}
	resume := stands(g.t, parentOf(g.t, pidOf(g.t, g.state, "manager"))) // or it would start the agent again at once
	g.kill(before.Name)
	g.await("another coordinator than "+before.Name, func(eg *v1.ElectionGroup) bool {
		now := eg.Status.Coordinator
		return now != nil && now.Name != before.Name && now.Epoch > before.Epoch
	})
	resume()
	g.await("the one that was killed", func(eg *v1.ElectionGroup) bool {
		return condition(eg, v1.ConditionDegraded) == "False" && eg.Status.Coordinator != nil
	})
}

// restartManager kills the cluster's manager, and waits for the next one.
func (g *group) restartManager() {
	g.t.Helper()
	startedAgain(g.t, g.state, killProgramOf(g.t, g.state, "manager"))
}

// level fails the test if another rules level is in force.
func (g *group) level(want int32) {
	g.t.Helper()
	if eg := g.read(); !ofLevel(want)(eg) {
		g.t.Errorf("the roster is %+v; want rules level %d", eg.Status.Roster, want)
	}
}

func ofLevel(level int32) func(*v1.ElectionGroup) bool {
	return func(eg *v1.ElectionGroup) bool {
		return eg.Status.Roster != nil && max(eg.Status.Roster.Rules, 1) == level
	}
}

func reasonOf(eg *v1.ElectionGroup, kind string) string {
	for _, c := range eg.Status.Conditions {
		if c.Type == kind {
			return c.Reason
		}
	}
	return ""
}
