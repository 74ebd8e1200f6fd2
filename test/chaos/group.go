package main

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/chaos/timeline"
	"github.com/podesta-dev/podesta/test/register"
	"github.com/podesta-dev/podesta/test/stage"
)

// appContainer is the container that writes to the register.
const appContainer = "app"

// stableSeconds is how long a returned process must have been there before it takes over.
const stableSeconds = 2

// lease is the Guarded groups' lease.
const leaseTime = time.Second

// group is a group of the present phase.
type group struct {
	namespace, name string
	algorithm       v1.Algorithm
	safety          v1.Safety
	size            int
	// never: no preemption; else the highest priority coordinates when all is well.
	never bool
	// previous: its agents are of an earlier version, until a rolling restart.
	previous bool
	// first is the process that an edit gave the highest priority; empty is the highest ordinal.
	first    string
	restarts int // rolling ones, so far
	// now is how many pods it has at present.
	now int
}

// groupsOf are the groups of an algorithm: each safety, with five processes that are all made at once and preempt, and with seven that
// a StatefulSet makes in their order and that do not.
func groupsOf(algorithm v1.Algorithm, previous bool) []*group {
	namespace := "chaos-" + strings.ToLower(string(algorithm))
	var groups []*group
	for _, safety := range []v1.Safety{v1.Guarded, v1.Classic} {
		for _, size := range []int{5, 7} {
			groups = append(groups, &group{namespace: namespace, algorithm: algorithm, safety: safety, size: size, now: size,
				name:  strings.ToLower(fmt.Sprintf("%s-%s-%d", algorithm, safety, size)),
				never: size == 7 && safety == v1.Guarded, previous: previous && size == 7})
		}
	}
	return groups
}

func (g *group) pod(i int) string { return fmt.Sprintf("%s-%d", g.name, i) }

// preferred is who coordinates when all is well; empty if it may be anybody.
func (g *group) preferred() string {
	switch {
	case g.never:
		return ""
	case g.first != "":
		return g.first
	default:
		return g.pod(g.now - 1)
	}
}

func (g *group) election() *v1.ElectionGroup {
	eg := &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: g.name}, Spec: v1.ElectionGroupSpec{
		Algorithm: g.algorithm, Safety: g.safety, Priority: v1.PriorityPolicy{From: v1.Ordinal},
		Service: &v1.CoordinatorService{Ports: []v1.CoordinatorPort{{Port: 80, TargetPort: new(intstr.FromInt32(8080))}}}}}
	if g.safety == v1.Guarded {
		eg.Spec.Timing.LeaseMilliseconds = int32(leaseTime / time.Millisecond)
		eg.Spec.Preemption = &v1.Preemption{Policy: v1.Delayed, StableSeconds: new(int32(stableSeconds))}
		if g.never {
			eg.Spec.Preemption = &v1.Preemption{Policy: v1.Never}
		}
	}
	return eg
}

// set is the group's StatefulSet: its pods spread over the workers, the app a writer.
func (g *group) set(o options, registerURL string) *appsv1.StatefulSet {
	labels := map[string]string{v1.GroupLabel: g.name}
	management := appsv1.ParallelPodManagement
	if g.size == 7 {
		management = appsv1.OrderedReadyPodManagement
	}
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	app := corev1.Container{
		Name: appContainer, Image: o.registerImage,
		Env: []corev1.EnvVar{field("POD_NAME", "metadata.name"), field("POD_UID", "metadata.uid")},
		Args: []string{"write", "--agent=http://127.0.0.1:4040", "--register=" + registerURL, "--ask=either", "--group=" + g.name,
			"--process=$(POD_NAME)", "--uid=$(POD_UID)", "--trace=" + nodeDir + "/traces/$(POD_NAME)_$(POD_UID).jsonl"},
		VolumeMounts:    []corev1.VolumeMount{{Name: "traces", MountPath: nodeDir + "/traces"}},
		SecurityContext: confined(),
	}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: g.name},
		Spec: appsv1.StatefulSetSpec{
			Replicas:            new(int32(g.size)), //nolint:gosec // five or seven
			PodManagementPolicy: management, ServiceName: g.name,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{}},
				Spec: corev1.PodSpec{
					Containers:                    []corev1.Container{app},
					Volumes:                       []corev1.Volume{hostDir("traces")},
					TerminationGracePeriodSeconds: new(int64(10)),
					// No worker ever has a majority of a group, also while another is drained: its pods wait for it.
					TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname,
						WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}},
					Affinity: onWorkers(),
				},
			},
		},
	}
}

func onWorkers() *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.NodeSelectorOpDoesNotExist}}}}}}}
}

// hostDir is a directory of the node: traces outlive their pods there.
func hostDir(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: nodeDir + "/" + name}}}
}

func confined() *corev1.SecurityContext {
	return &corev1.SecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
}

// missing says what the group lacks to be well: all its pods run, the status names the one that acts, and its Service leads there. What
// was ended, containers and pods by their IDs, must not be seen any more: or what is seen is of before. The lock of the scene is held.
func (g *group) missing(s *scene, ended map[string]bool) string {
	n := 0
	for _, p := range s.pods {
		if p.Labels[v1.GroupLabel] != g.name {
			continue
		}
		if n++; !whole(p) {
			return fmt.Sprintf("pod %s is not ready", p.Name)
		}
		if ids := containers(p); ended[string(p.UID)] || ended[ids[v1.AgentContainer]] || ended[ids[appContainer]] {
			return fmt.Sprintf("pod %s is still seen as it was", p.Name)
		}
	}
	if n != g.now {
		return fmt.Sprintf("%s has %d pods, not %d", g.name, n, g.now)
	}
	eg := s.groups[g.name]
	if eg == nil || eg.Status.Coordinator == nil || eg.Status.ObservedGeneration != eg.Generation {
		return g.name + ": the status names no coordinator, or is of an earlier spec"
	}
	c := timeline.Holder{Process: eg.Status.Coordinator.Name, Epoch: eg.Status.Coordinator.Epoch}
	for _, condition := range eg.Status.Conditions {
		if want := wants(condition.Type); want != "" && condition.Status != want {
			return fmt.Sprintf("%s: %s is %s: %s", g.name, condition.Type, condition.Status, condition.Message)
		}
	}
	if acts := s.line(g.name).Last(register.Now()); acts != c {
		return fmt.Sprintf("%s: %s acts, and the status names %s", g.name, who(acts, g.name), who(c, g.name))
	}
	if first := g.preferred(); first != "" && c.Process != first {
		return fmt.Sprintf("%s: %s coordinates, though %s has the highest priority", g.name, c.Process, first)
	}
	if led := s.led[g.name]; len(led) != 1 || led[0] != c.Process {
		return fmt.Sprintf("%s: the Service leads to %v, and %s coordinates", g.name, led, c.Process)
	}
	return ""
}

// wants is what a condition is when all is well; empty if it does not matter.
func wants(condition string) metav1.ConditionStatus {
	switch condition {
	case v1.ConditionReady, v1.ConditionCoordinatorElected:
		return metav1.ConditionTrue
	case v1.ConditionReconciling, v1.ConditionStalled, v1.ConditionDegraded:
		return metav1.ConditionFalse
	default:
		return ""
	}
}

// whole: it is ready, it is not on its way out, and all of its containers run.
func whole(p *corev1.Pod) bool {
	ids := containers(p)
	return p.DeletionTimestamp == nil && stage.Ready(p) && ids[v1.AgentContainer] != "" && ids[appContainer] != ""
}

// containers are the IDs of a pod's running containers, by name.
func containers(p *corev1.Pod) map[string]string {
	ids := map[string]string{}
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for _, c := range list {
			if _, id, ok := strings.Cut(c.ContainerID, "://"); ok && c.State.Running != nil {
				ids[c.Name] = id
			}
		}
	}
	return ids
}
