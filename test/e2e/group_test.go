package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/manifest"
	"github.com/podesta-dev/podesta/test/observer"
	"github.com/podesta-dev/podesta/test/stage"
)

// patience is how long a step may take on a loaded machine before it counts as failed. Nothing
// waits for it when all is well.
const patience = 2 * time.Minute

// settling is how long it takes until an edit has had all its effects: several heartbeats after
// every process uses the roster.
const settling = 3 * time.Second

// group is a group in a namespace of its own, with what a test needs of it.
type group struct {
	*stage.Stage
	t     *testing.T
	state string // its cluster's directory
}

// newGroup makes a namespace and connects to the group of that name in it, on the cluster that all
// tests use.
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
	template, err := manifest.Pod(filepath.Join(root, "config/samples/pods.yaml"))
	g.must(err)
	g.must(g.createPods(g.t.Context(), template, first, last))
}

// voting waits until the group's voters are its pods of now, n of them, and no pod of before.
func (g *group) voting(n int) {
	g.t.Helper()
	pods, err := g.Pods(g.t.Context())
	g.must(err)
	if len(pods) != n {
		g.t.Fatalf("%d pods, want %d", len(pods), n)
	}
	g.await(fmt.Sprintf("the %d pods of now as voters", n), func(eg *v1.ElectionGroup) bool {
		of := votersOf(eg)
		return reconciled(eg) && len(of) == n && !slices.ContainsFunc(of, func(m v1.RosterMember) bool { return pods[m.Name].UID != m.UID })
	})
}

func votersOf(eg *v1.ElectionGroup) (of []v1.RosterMember) {
	if eg.Status.Roster == nil {
		return nil
	}
	for _, m := range eg.Status.Roster.Members {
		if m.Voter != nil && *m.Voter {
			of = append(of, m)
		}
	}
	return of
}

// took is the time from a cause to its effect; an effect before its cause fails the test.
func (g *group) took(cause, effect time.Time) time.Duration {
	g.t.Helper()
	took, err := observer.After(cause, effect)
	if err != nil {
		g.t.Error(err)
	}
	return took
}

func (g *group) read() *v1.ElectionGroup {
	g.t.Helper()
	eg, err := g.Read(g.t.Context())
	g.must(err)
	return eg
}

func (g *group) running(n int) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	_, err := g.AwaitRunning(ctx, n)
	g.must(err)
}

// agree waits until every running process but those given follows want, and returns when the last
// one said so.
func (g *group) agree(want string, but ...string) time.Time {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	pods, err := g.Pods(ctx)
	g.must(err)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(pods)), func(n string) bool { return slices.Contains(but, n) })
	a, err := g.Observer.Await(ctx, names, func(c string) bool { return c == want })
	g.must(err)
	return a.At
}

// shows waits until the status shows the coordinator everywhere, the given processes as crashed,
// and all others as normal, each pod of now and each that crashed with a row, and nobody else; then
// the role label must be on the coordinator's pod only.
func (g *group) shows(coordinator string, crashed ...string) *v1.ElectionGroup {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	pods, err := g.Pods(ctx)
	g.must(err)
	rows := slices.Sorted(maps.Keys(pods))
	for _, name := range crashed {
		if pods[name].Name == "" { // its pod is gone, and the spec names it
			rows = append(rows, name)
		}
	}
	slices.Sort(rows)
	what := fmt.Sprintf("status with coordinator %s, crashed %v, and rows for %v", coordinator, crashed, rows)
	eg, err := g.Await(ctx, what, func(eg *v1.ElectionGroup) bool {
		if !stage.Coordinates(eg, coordinator) || !slices.Equal(rows, names(eg)) {
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

// names are the processes in the table, sorted.
func names(eg *v1.ElectionGroup) []string {
	all := make([]string, 0, len(eg.Status.Processes))
	for _, p := range eg.Status.Processes {
		all = append(all, p.Name)
	}
	slices.Sort(all)
	return all
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

// failsOver kills scheduler-4 for good, and waits until the status shows it: that is proof of a
// manager that hears the agents, where the status of before said the same as that of now. The
// supervisor would start it again.
func (g *group) failsOver(supervisor int) {
	g.t.Helper()
	resume := stands(g.t, supervisor)
	g.kill("scheduler-4")
	g.shows("scheduler-3", "scheduler-4")
	resume()
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

// explain prints what a failed test left: the group, who says what, and the ends of its agents'
// logs, which have the transcripts of their elections.
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

// plugin runs the plugin as an administrator.
func (g *group) plugin(arguments ...string) (out, notes string, err error) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	var stdout, stderr strings.Builder
	arguments = append(arguments, "-n", g.Namespace, "--kubeconfig", filepath.Join(g.state, "kubeconfig"))
	command := exec.CommandContext(ctx, filepath.Join(root, "bin/kubectl-election"), arguments...)
	command.Stdout, command.Stderr = &stdout, &stderr
	err = command.Run()
	return stdout.String(), stderr.String(), err
}
