package alerts

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/manifest"
	"github.com/podesta-dev/podesta/test/stage"
)

// group is a group with what a test needs of it.
type group struct {
	*stage.Stage
	t *testing.T
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newGroup makes a group, whose processes the spec names, with the ordinal plus 1 as their
// priority, and waits until the last of them coordinates.
func newGroup(t *testing.T, namespace, name string, size int, safety v1.Safety) *group {
	t.Helper()
	g := begin(t, namespace, name, size, safety)
	g.coordinates(g.pod(size - 1))
	return g
}

// newCutGroup is newGroup with links that can be cut.
func newCutGroup(t *testing.T, namespace, name string, size int, safety v1.Safety) (*group, *cuts) {
	t.Helper()
	g := begin(t, namespace, name, size, safety, behindCuts)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	pods, err := g.AwaitPods(ctx, "addresses", func(pods map[string]corev1.Pod) bool {
		for _, pod := range pods {
			if pod.Status.PodIP == "" {
				return false
			}
		}
		return len(pods) == size
	})
	must(t, err)
	c := newCuts(g, pods)
	g.coordinates(g.pod(size - 1))
	return g, c
}

// begin makes the group and its pods.
func begin(t *testing.T, namespace, name string, size int, safety v1.Safety, edits ...func(*corev1.Pod)) *group {
	t.Helper()
	s, err := stage.Connect(kubeconfig, namespace, name)
	must(t, err)
	t.Cleanup(s.Close)
	g := &group{Stage: s, t: t}
	err = g.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	eg := &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1.ElectionGroupSpec{Algorithm: v1.Bully, Safety: safety}}
	for i := range size {
		eg.Spec.Processes = append(eg.Spec.Processes, v1.Process{Name: g.pod(i), Priority: new(int32(i + 1))})
	}
	must(t, g.Create(t.Context(), eg))
	for i := range size {
		g.start(g.pod(i), edits...)
	}
	return g
}

func (g *group) pod(i int) string { return fmt.Sprintf("%s-%d", g.Group, i) }

// start makes a pod of the group, after the first of the samples.
func (g *group) start(name string, edits ...func(*corev1.Pod)) {
	g.t.Helper()
	pod, err := manifest.Pod(filepath.Join(root, "config/samples/pods.yaml"))
	must(g.t, err)
	pod.ObjectMeta = metav1.ObjectMeta{Namespace: g.Namespace, Name: name, Labels: map[string]string{v1.GroupLabel: g.Group}}
	for _, edit := range edits {
		edit(pod)
	}
	must(g.t, g.Create(g.t.Context(), pod))
}

// await waits until accept holds for the group.
func (g *group) await(what string, accept func(*v1.ElectionGroup) bool) *v1.ElectionGroup {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	eg, err := g.Await(ctx, what, accept)
	must(g.t, err)
	return eg
}

// coordinates waits until the status shows a process as the coordinator.
func (g *group) coordinates(process string) {
	g.t.Helper()
	g.await(process+" as coordinator", func(eg *v1.ElectionGroup) bool { return stage.Coordinates(eg, process) })
}

// restarted kills a process and waits until its pod runs again.
func (g *group) restarted(pod string) {
	g.t.Helper()
	pids := func(pods map[string]corev1.Pod) map[string]int {
		p := pods[pod]
		found, err := stage.Processes(&p)
		if err != nil || !stage.Ready(&p) {
			return nil
		}
		return found
	}
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	// its agent may coordinate before its status shows that it runs
	pods, err := g.AwaitPods(ctx, pod+" to be ready", func(pods map[string]corev1.Pod) bool { return len(pids(pods)) > 0 })
	must(g.t, err)
	before := pids(pods)
	g.signal(pod, syscall.SIGKILL)
	_, err = g.AwaitPods(ctx, "a restart of "+pod, func(pods map[string]corev1.Pod) bool {
		now := pids(pods)
		for name, pid := range before {
			if now[name] == 0 || now[name] == pid {
				return false
			}
		}
		return true
	})
	must(g.t, err)
}

// another waits until the status shows another process as the coordinator, and returns it.
func (g *group) another(than string) string {
	g.t.Helper()
	eg := g.await("another coordinator than "+than, func(eg *v1.ElectionGroup) bool {
		return eg.Status.Coordinator != nil && eg.Status.Coordinator.Name != than
	})
	return eg.Status.Coordinator.Name
}

// signal sends a signal to all processes of a pod. A stopped one goes on when the test ends.
func (g *group) signal(pod string, signal syscall.Signal) {
	g.t.Helper()
	if signal == syscall.SIGSTOP {
		g.t.Cleanup(func() { _, _ = g.Signal(context.Background(), pod, syscall.SIGCONT) })
	}
	_, err := g.Signal(g.t.Context(), pod, signal)
	must(g.t, err)
}

// edit changes the spec.
func (g *group) edit(change func(*v1.ElectionGroupSpec)) {
	g.t.Helper()
	must(g.t, g.Edit(g.t.Context(), change))
}

// runs runs a command line of a runbook.
func runs(t *testing.T, folder, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := runLine(ctx, folder, line)
	must(t, err)
	return out
}

// runLine runs a command line: kubectl, kubectl election, or the agent's.
func runLine(ctx context.Context, folder, line string) (string, error) {
	bin, err := filepath.Abs(filepath.Join(root, "bin"))
	if err != nil {
		return "", err
	}
	words := strings.Fields(line)
	program := filepath.Join(bin, "agent")
	switch {
	case strings.HasPrefix(line, "kubectl election "):
		program, words = filepath.Join(bin, "kubectl-election"), words[1:]
	case words[0] == "kubectl":
		program = filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	}
	command := exec.CommandContext(ctx, program, words[1:]...)
	command.Dir, command.Env = folder, append(os.Environ(), "KUBECONFIG="+kubeconfig)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", line, err, out, stderr.String())
	}
	return string(out), nil
}

// eventually waits until something holds that nobody tells of.
func eventually(t *testing.T, what string, holds func() (bool, error)) {
	t.Helper()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	deadline := time.After(patience)
	for {
		ok, err := holds()
		must(t, err)
		if ok {
			return
		}
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("waited %v for %s", patience, what)
		}
	}
}
