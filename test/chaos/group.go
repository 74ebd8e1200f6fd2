package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/chaos/backend"
	"github.com/podesta-dev/podesta/test/chaos/timeline"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/stage"
)

// The leases of the Guarded groups. Pauses and cuts take up to five of the longest.
const (
	shortestLease = 100 * time.Millisecond
	longestLease  = time.Second
)

// stableSeconds is how long a process that came back must have been there before it takes over.
const stableSeconds = 2

// group is a group of the present phase.
type group struct {
	namespace, name string
	algorithm       v1.Algorithm
	safety          v1.Safety
	size            int
	// witness: it has a witness beside its pods.
	witness bool
	// service: the group has a coordinator Service.
	service bool
	// never: no preemption; else the highest priority coordinates when all is well.
	never bool
	// equals: all have one priority; else it is of their ordinals.
	equals bool
	// previous: its agents are of an earlier version, until a rolling restart.
	previous bool
	// first is the ordinal that an edit gave the highest priority; -1 is the highest ordinal.
	first    int
	restarts int // rolling ones, so far
	backups  int // of the status, that were restored so far
	// now is how many pods it has at present.
	now int
}

// inOrder groups get their pods one after another, and do not preempt if they are Guarded.
const inOrder = 7

// groupsOf returns the groups of an algorithm: of each safety one of each size, and a Guarded one
// of two with a witness. Those of seven get their pods in order and do not preempt; the local
// cluster has none of them. The pods of
// others are made at once.
func (o options) groupsOf(algorithm v1.Algorithm, previous bool) []*group {
	var groups []*group
	add := func(safety v1.Safety, size int) *group {
		g := &group{
			namespace: "chaos-" + strings.ToLower(string(algorithm)),
			name:      strings.ToLower(fmt.Sprintf("%s-%s-%d", algorithm, safety, size)),
			algorithm: algorithm,
			safety:    safety,
			size:      size,
			now:       size,
			first:     -1,
			service:   o.backend == onKind,
			never:     size == inOrder && safety == v1.Guarded,
			previous:  previous && size == inOrder,
		}
		groups = append(groups, g)
		return g
	}
	sizes := []int{5, inOrder}
	if o.backend == onLocal {
		sizes = sizes[:1]
	}
	for _, safety := range []v1.Safety{v1.Guarded, v1.Classic} {
		for _, size := range sizes {
			add(safety, size)
		}
		if safety == v1.Guarded {
			add(safety, 2).witness = true
		}
	}
	return groups
}

// pods is how many there are to be, with the witness.
func (g *group) pods() int {
	if g.witness {
		return g.now + 1
	}
	return g.now
}

// bears reports whether the group can bear one more fault of a pod in a round in which it had one.
// Two voters of three may lose their disks at once, and nothing that is left is a majority.
func (g *group) bears() bool { return g.size >= 5 }

func (g *group) pod(i int) string { return fmt.Sprintf("%s-%d", g.name, i) }

// preferred is who coordinates when all is well; empty if it may be anybody.
func (g *group) preferred() string {
	if g.never {
		return ""
	}
	return g.highest()
}

// highest is the process with the highest priority of those that there are.
func (g *group) highest() string {
	if 0 <= g.first && g.first < g.now {
		return g.pod(g.first)
	}
	return g.pod(g.now - 1)
}

func (g *group) election() *v1.ElectionGroup {
	eg := &v1.ElectionGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: g.name},
		Spec: v1.ElectionGroupSpec{
			Algorithm: g.algorithm,
			Safety:    g.safety,
		},
	}
	if !g.equals {
		eg.Spec.Priority.From = v1.Ordinal
	}
	if g.service {
		eg.Spec.Service = &v1.CoordinatorService{
			Ports: []v1.CoordinatorPort{{Port: 80, TargetPort: new(intstr.FromInt32(8080))}}}
	}
	if g.safety == v1.Guarded {
		eg.Spec.Timing.LeaseMaximumMilliseconds = int32(longestLease / time.Millisecond)
		eg.Spec.Timing.LeaseMinimumMilliseconds = int32(shortestLease / time.Millisecond)
		eg.Spec.Preemption = &v1.Preemption{Policy: v1.Delayed, StableSeconds: new(int32(stableSeconds))}
		if g.never {
			eg.Spec.Preemption = &v1.Preemption{Policy: v1.Never}
		}
	}
	return eg
}

// set is the group's pods, the app a writer.
func (g *group) set(c backend.Cluster) backend.Set {
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name,
			ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	app := corev1.Container{
		Name:  backend.AppContainer,
		Image: c.Image,
		Env:   []corev1.EnvVar{field("POD_NAME", "metadata.name"), field("POD_UID", "metadata.uid")},
		Args: []string{"write", "--agent=http://127.0.0.1:4040", "--register=" + c.Register,
			"--group=" + g.name,
			"--process=$(POD_NAME)", "--uid=$(POD_UID)",
			"--trace=" + c.Traces + "/$(POD_NAME)_$(POD_UID).jsonl"},
		SecurityContext: backend.Confined(),
	}
	spec := corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(10))}
	if c.Volume != nil {
		app.VolumeMounts = []corev1.VolumeMount{{Name: c.Volume.Name, MountPath: c.Traces}}
		spec.Volumes = []corev1.Volume{*c.Volume}
	}
	spec.Containers = []corev1.Container{app}
	return backend.Set{
		Namespace: g.namespace,
		Name:      g.name,
		Size:      g.now,
		InOrder:   g.size == inOrder,
		Previous:  g.previous,
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{
				Labels:      map[string]string{v1.GroupLabel: g.name, workloadLabel: "set"},
				Annotations: map[string]string{backend.Revision: fmt.Sprint(g.restarts)},
			},
			Spec: spec,
		},
	}
}

// sets are the group's pods. A witness's app asks as the others do, so that it would be seen to
// act.
func (g *group) sets(c backend.Cluster) []backend.Set {
	all := []backend.Set{g.set(c)}
	if g.witness {
		w := g.set(c)
		w.Name, w.Size = g.name+witnessSuffix, 1
		w.Template.Labels[v1.WitnessLabel], w.Template.Labels[workloadLabel] = v1.WitnessTrue, "witness"
		all = append(all, w)
	}
	return all
}

// witnessSuffix ends the name of the set that is a group's witness.
const witnessSuffix = "-witness"

// absent says which of the group's pods does not run as it should; empty if all do. The lock of the
// scene is held.
func (g *group) absent(s *scene, ended map[string]bool) string {
	n := 0
	for _, p := range s.pods {
		if p.Labels[v1.GroupLabel] != g.name {
			continue
		}
		n++
		if why := amiss(p, ended); why != "" {
			return fmt.Sprintf("pod %s is %s", p.Name, why)
		}
	}
	if n != g.pods() {
		return fmt.Sprintf("%s has %d pods, not %d", g.name, n, g.pods())
	}
	return ""
}

// present counts the group's pods that run as they should. The lock of the scene is held.
func (g *group) present(s *scene, ended map[string]bool) (n int) {
	for _, p := range s.pods {
		if p.Labels[v1.GroupLabel] == g.name && amiss(p, ended) == "" {
			n++
		}
	}
	return n
}

// missing says what the group lacks to be well: all its pods run, the status names the one that
// acts, and its Service, if it has one, leads there. The lock of the scene is held.
func (g *group) missing(s *scene, ended map[string]bool) string {
	if absent := g.absent(s, ended); absent != "" {
		return absent
	}
	eg := s.groups[g.name]
	if eg == nil || eg.Status.Coordinator == nil || eg.Status.ObservedGeneration != eg.Generation {
		return g.name + ": the status names no coordinator, or is of an earlier spec"
	}
	c := timeline.Holder{Process: eg.Status.Coordinator.Name, Epoch: eg.Status.Coordinator.Epoch}
	for _, kind := range slices.Sorted(maps.Keys(wanted)) {
		condition := apimeta.FindStatusCondition(eg.Status.Conditions, kind)
		if condition == nil {
			return fmt.Sprintf("%s: the status does not have the condition %s", g.name, kind)
		}
		if condition.Status != wanted[kind] {
			return fmt.Sprintf("%s: %s is %s: %s", g.name, kind, condition.Status, condition.Message)
		}
	}
	if acts := s.line(g.name).Last(register.Now()); acts != c {
		return fmt.Sprintf("%s: %s acts, and the status names %s", g.name, who(acts, g.name),
			who(c, g.name))
	}
	if first := g.preferred(); first != "" && c.Process != first {
		return fmt.Sprintf("%s: %s coordinates, though %s has the highest priority", g.name, c.Process,
			first)
	}
	if led := s.led[g.name]; g.service && (len(led) != 1 || led[0] != c.Process) {
		return fmt.Sprintf("%s: the Service leads to %v, and %s coordinates", g.name, led, c.Process)
	}
	return ""
}

// wanted is what the conditions are when all is well.
var wanted = map[string]metav1.ConditionStatus{
	v1.ConditionReady:              metav1.ConditionTrue,
	v1.ConditionCoordinatorElected: metav1.ConditionTrue,
	v1.ConditionReconciling:        metav1.ConditionFalse,
	v1.ConditionStalled:            metav1.ConditionFalse,
	v1.ConditionDegraded:           metav1.ConditionFalse,
}

// amiss says why a pod does not run as it should; empty if it does. What was ended, containers and
// pods by their IDs, must not be seen any more: or what is seen is of before.
func amiss(p *corev1.Pod, ended map[string]bool) string {
	ids := backend.Containers(p)
	switch {
	case !whole(p):
		return "not ready"
	case ended[string(p.UID)], ended[ids[v1.AgentContainer]], ended[ids[backend.AppContainer]]:
		return "still seen as it was"
	default:
		return ""
	}
}

// whole reports whether a pod is ready, is not being deleted, and all of its containers run.
func whole(p *corev1.Pod) bool {
	ids := backend.Containers(p)
	return p.DeletionTimestamp == nil && stage.Ready(p) && ids[v1.AgentContainer] != "" &&
		ids[backend.AppContainer] != ""
}
