package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/stage"
)

// registerService is where the writers look for the register; the local cluster resolves it.
const registerService = "register.test.svc:8080"

// The containers of a pod.
const (
	agentContainer = "podesta-agent"
	appContainer   = "app"
)

// group is a group whose apps write to the register. Its namespace has its name.
type group struct {
	*stage.Stage
	safety   v1.Safety
	template *corev1.Pod
	size     int
	cluster  int // process of `cluster up`, the parent of all of the pods' processes
}

// member is a pod as it was when a round began.
type member struct {
	name string
	pids map[string]int // by container
}

// parts are the processes of a part of the pod.
func (m member) parts(p part) []int {
	switch p {
	case agent:
		return []int{m.pids[agentContainer]}
	case app:
		return []int{m.pids[appContainer]}
	default:
		return slices.Sorted(maps.Values(m.pids))
	}
}

// create makes the group and its pods.
func (r *runner) create(ctx context.Context, safety v1.Safety, cluster *stage.Cluster) (*group, error) {
	name := strings.ToLower(string(safety))
	s, err := stage.Connect(cluster.Kubeconfig, name, name)
	if err != nil {
		return nil, err
	}
	g := &group{Stage: s, safety: safety, size: r.processes, cluster: cluster.PID}
	if g.template, err = stage.Template(filepath.Join(r.repository, "config/samples/pods.yaml")); err != nil {
		return nil, err
	}
	g.template.Spec.Containers = []corev1.Container{appOf(g.template, name, r.traces())}
	if err := s.CreateNamespace(ctx); err != nil {
		return nil, err
	}
	eg := &v1.ElectionGroup{Spec: v1.ElectionGroupSpec{
		Algorithm: v1.Algorithm(r.algorithm), Safety: safety, Priority: v1.PriorityPolicy{From: v1.Ordinal}}}
	eg.Namespace, eg.Name = s.Namespace, s.Group
	if safety == v1.Guarded {
		eg.Spec.Timing.LeaseMilliseconds = int32(r.lease.Milliseconds()) //nolint:gosec // the API server refuses what is too long
	}
	if err := s.Create(ctx, eg); err != nil {
		return nil, err
	}
	return g, s.CreatePods(ctx, g.template, 0, g.size-1)
}

// appOf is the sample's app container, with a writer for the app.
func appOf(pod *corev1.Pod, group, traces string) corev1.Container {
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	c := pod.Spec.Containers[0]
	c.Name, c.Image = appContainer, registerImage
	c.Env = []corev1.EnvVar{field("POD_NAME", "metadata.name"), field("POD_UID", "metadata.uid")}
	c.Args = []string{"write", "--agent=http://127.0.0.1:4040", "--register=http://" + registerService, "--ask=either",
		"--group=" + group, "--process=$(POD_NAME)", "--uid=$(POD_UID)", "--trace=" + filepath.Join(traces, "$(POD_NAME)_$(POD_UID).jsonl")}
	return c
}

// muster awaits that all pods run, each container a live process of the cluster, and returns them.
func (g *group) muster(ctx context.Context) (map[string]member, error) {
	var members map[string]member
	_, err := g.AwaitPods(ctx, fmt.Sprintf("%d pods that run", g.size), func(pods map[string]corev1.Pod) bool {
		members = map[string]member{}
		if len(pods) != g.size || !stage.AllReady(pods) {
			return false
		}
		for name, p := range pods {
			pids, err := stage.Processes(&p)
			if err != nil || !g.alive(pids) {
				return false // its status is not up to date
			}
			members[name] = member{name: name, pids: pids}
		}
		return true
	})
	return members, err
}

func (g *group) alive(pids map[string]int) bool {
	for _, container := range []string{agentContainer, appContainer} {
		if pid, ok := pids[container]; !ok || !descends(g.cluster, pid) {
			return false
		}
	}
	return true
}

// replace deletes a pod as kubectl does and makes it again, with its name and another UID.
func (g *group) replace(ctx context.Context, name string) error {
	if err := g.DeletePod(ctx, name); err != nil {
		return err
	}
	var ordinal int
	if _, err := fmt.Sscanf(strings.TrimPrefix(name, g.Group), "-%d", &ordinal); err != nil {
		return fmt.Errorf("pod %s: %w", name, err)
	}
	return g.CreatePods(ctx, g.template, ordinal, ordinal)
}
