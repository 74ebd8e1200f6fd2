package group

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// endedPods are the pods that have ended, by group and UID, with when this manager learnt of it.
// They are recorded as the pod informer brings them, because a pod's last state may be gone when
// its group is reconciled. Safe for concurrent use.
type endedPods struct {
	mu     sync.Mutex
	groups map[types.NamespacedName]map[types.UID]time.Time
}

// record notes that a pod has ended, if its state proves it.
func (e *endedPods) record(key types.NamespacedName, pod *corev1.Pod, now time.Time) {
	if !nothingRuns(pod) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.groups == nil {
		e.groups = map[types.NamespacedName]map[types.UID]time.Time{}
	}
	if e.groups[key] == nil {
		e.groups[key] = map[types.UID]time.Time{}
	}
	if _, known := e.groups[key][pod.UID]; !known {
		e.groups[key][pod.UID] = now
	}
}

// of returns those of a group's pods that are wanted.
func (e *endedPods) of(key types.NamespacedName,
	wanted map[types.UID]bool) map[types.UID]time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	some := map[types.UID]time.Time{}
	for uid, at := range e.groups[key] {
		if wanted[uid] {
			some[uid] = at
		}
	}
	return some
}

// prune drops all pods of a group that are not wanted.
func (e *endedPods) prune(key types.NamespacedName, wanted map[types.UID]bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for uid := range e.groups[key] {
		if !wanted[uid] {
			delete(e.groups[key], uid)
		}
	}
	if len(e.groups[key]) == 0 {
		delete(e.groups, key)
	}
}

// nothingRuns reports whether a pod's state proves that nothing of it runs any more, or ever will
// (MC5 in internal/membership): the kubelet says that it is over, and reports all its containers as
// terminated. Terminated containers alone prove nothing, whether the pod is being deleted or not:
// before a kubelet starts some again it reports them, and then its node may be lost. Nor does a
// phase: when a node is lost, Kubernetes calls its pods Failed while they may run there. Nor does a
// container that the kubelet has not found: it may run on the machine that the node had before.
func nothingRuns(pod *corev1.Pod) bool {
	if !finished(pod) || !overByKubelet(pod) {
		return false
	}
	states := map[string]corev1.ContainerState{}
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if notFound(s.State) || notFound(s.LastTerminationState) {
			return false
		}
		states[s.Name] = s.State
	}
	for _, c := range pod.Spec.InitContainers {
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		if (sidecar || states[c.Name].Running != nil) && states[c.Name].Terminated == nil {
			return false
		}
	}
	for _, c := range pod.Spec.Containers {
		if states[c.Name].Terminated == nil {
			return false
		}
	}
	return len(pod.Spec.Containers) > 0
}

// notFound reports whether a kubelet calls a container terminated because it could not find it.
func notFound(s corev1.ContainerState) bool {
	return s.Terminated != nil && s.Terminated.Reason == "ContainerStatusUnknown"
}

// overByKubelet reports whether the kubelet itself says so, which it does when nothing of the pod
// runs any more or will; since Kubernetes 1.27 also of pods that are deleted. Whoever else sets a
// phase leaves this condition alone.
func overByKubelet(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.ContainersReady && c.Status == corev1.ConditionFalse &&
			(c.Reason == "PodFailed" || c.Reason == "PodCompleted")
	})
}

// finished reports whether a pod's phase is final, whoever set it.
func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
