package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/stage"
)

// patience is how long a step may take on a loaded machine before it counts as failed. Nothing waits for it when all is well.
const patience = 2 * time.Minute

// group is a group in a namespace of its own, with what a test needs of it.
type group struct {
	*stage.Stage
	t     *testing.T
	state string // its cluster's directory
}

// newGroup makes a namespace and connects to the group of that name in it, on the cluster that all tests use.
func newGroup(t *testing.T, namespace string) *group {
	t.Helper()
	return newGroupOn(t, state, namespace)
}

// newGroupOn is newGroup on the cluster with that directory.
func newGroupOn(t *testing.T, state, namespace string) *group {
	t.Helper()
	s, err := stage.Connect(filepath.Join(state, "kubeconfig"), namespace, "scheduler")
	if err != nil {
		t.Fatal(err)
	}
	g := &group{Stage: s, t: t, state: state}
	t.Cleanup(s.Close)
	t.Cleanup(func() {
		if t.Failed() {
			g.explain()
		}
	})
	t.Cleanup(func() { g.must(g.clear(context.Background())) })
	g.must(g.createNamespace(t.Context()))
	return g
}

// sample applies config/samples: five pods and their group, as the textbooks have it.
func (g *group) sample() { g.apply("podesta_v1_electiongroup_classic.yaml") }

// guarded applies config/samples as they are.
func (g *group) guarded() { g.apply("podesta_v1_electiongroup.yaml") }

func (g *group) apply(sample string) {
	g.t.Helper()
	for _, file := range []string{sample, "pods.yaml"} {
		g.must(g.ApplyFile(g.t.Context(), filepath.Join(root, "config/samples", file)))
	}
	g.running(5)
}

// ordinals makes a group whose pods 0 to n-1 have their ordinal plus 1 as priority.
func (g *group) ordinals(n int) {
	g.t.Helper()
	g.found(v1.Classic, n)
}

// found is ordinals with the safety that is asked for.
func (g *group) found(safety v1.Safety, n int) {
	g.t.Helper()
	eg := &v1.ElectionGroup{Spec: v1.ElectionGroupSpec{Algorithm: v1.Bully, Safety: safety, Priority: v1.PriorityPolicy{From: v1.Ordinal}}}
	eg.Namespace, eg.Name = g.Namespace, g.Group
	g.must(g.Create(g.t.Context(), eg))
	g.add(0, n-1)
	g.running(n)
}

func (g *group) add(first, last int) {
	g.t.Helper()
	template, err := template(filepath.Join(root, "config/samples/pods.yaml"))
	g.must(err)
	g.must(g.createPods(g.t.Context(), template, first, last))
}

func (g *group) running(n int) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	_, err := g.AwaitRunning(ctx, n)
	g.must(err)
}

// agree waits until every running process but those given follows want, and returns when the last one said so.
func (g *group) agree(want string, but ...string) time.Time {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	pods, err := g.Pods(ctx)
	g.must(err)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(pods)), func(n string) bool { return slices.Contains(but, n) })
	a, err := g.Witness.Await(ctx, names, func(c string) bool { return c == want })
	g.must(err)
	return a.At
}

// shows waits until the status shows the coordinator everywhere, the given processes as crashed, and all others as normal;
// then the role label must be on the coordinator's pod only.
func (g *group) shows(coordinator string, crashed ...string) *v1.ElectionGroup {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	what := fmt.Sprintf("status with coordinator %s, crashed %v", coordinator, crashed)
	eg, err := g.Await(ctx, what, func(eg *v1.ElectionGroup) bool {
		if !stage.Coordinates(eg, coordinator) {
			return false
		}
		for _, p := range eg.Status.Processes {
			want := v1.ProcessNormal
			if p.Name == coordinator {
				want = v1.ProcessCoordinator
			} else if slices.Contains(crashed, p.Name) {
				want = v1.ProcessCrashed
			}
			if p.State != want {
				return false
			}
		}
		return true
	})
	g.must(err)
	g.labelled(ctx, coordinator)
	return eg
}

// labelled waits until the role label is on that pod only; it follows the status.
func (g *group) labelled(ctx context.Context, want string) {
	g.t.Helper()
	g.must(g.awaitLabel(ctx, want))
}

func (g *group) kill(pod string) time.Time {
	g.t.Helper()
	return g.signal(pod, syscall.SIGKILL)
}

func (g *group) signal(pod string, signal syscall.Signal) time.Time {
	g.t.Helper()
	at, err := g.Signal(g.t.Context(), pod, signal)
	g.must(err)
	return at
}

func (g *group) edit(change func(*v1.ElectionGroupSpec)) {
	g.t.Helper()
	g.must(g.Edit(g.t.Context(), change))
}

func (g *group) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

// explain prints what a failed test left: the group, who says what, and the ends of its agents' logs, which have the
// transcripts of their elections.
func (g *group) explain() {
	ctx := context.Background()
	if eg, err := g.Read(ctx); err == nil {
		g.t.Logf("the group:\n%s%+v", stage.Table(eg), eg.Status.Conditions)
	}
	logs, _ := filepath.Glob(filepath.Join(g.state, "logs", g.Namespace+"_*", "podesta-agent.log"))
	for _, file := range logs {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		g.t.Logf("%s:\n%s", file, strings.Join(lines[max(0, len(lines)-15):], "\n"))
	}
}

func (g *group) await(what string, accept func(*v1.ElectionGroup) bool) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	_, err := g.Await(ctx, what, accept)
	g.must(err)
}

func condition(eg *v1.ElectionGroup, kind string) string {
	for _, c := range eg.Status.Conditions {
		if c.Type == kind {
			return string(c.Status)
		}
	}
	return ""
}
