package controllers

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// endings are the pods that are known to have ended, by group and UID, since when. They are taken down as the pod informer
// tells them, because a pod's last state may be gone when its group is looked at. Each pass over a group drops those that are
// of no interest to it. Safe for concurrent use.
type endings struct {
	mu     sync.Mutex
	groups map[types.NamespacedName]map[types.UID]time.Time
}

// saw takes down that a pod has ended, if its state says so.
func (e *endings) saw(pod *corev1.Pod, now time.Time) {
	if !hasEnded(pod) {
		return
	}
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Labels[v1.GroupLabel]}
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

// of returns a group's endings and keeps those only that are wanted.
func (e *endings) of(key types.NamespacedName, wanted func(types.UID) bool) map[types.UID]time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	kept := map[types.UID]time.Time{}
	for uid, at := range e.groups[key] {
		if wanted(uid) {
			kept[uid] = at
		} else {
			delete(e.groups[key], uid)
		}
	}
	if len(kept) == 0 {
		delete(e.groups, key)
	}
	return kept
}

// hasEnded is the part of R5 that a pod's state tells: the kubelet says that it is over, and reports all its containers terminated.
// Terminated containers alone prove nothing, whether the pod is being deleted or not: before a kubelet starts some again it reports
// them, and then its node may be lost. Nor does a phase: when a node is lost, Kubernetes calls its pods Failed while they may run there.
func hasEnded(pod *corev1.Pod) bool {
	if !ended(pod) || !overByKubelet(pod) {
		return false
	}
	states := map[string]corev1.ContainerState{}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, s := range statuses {
			states[s.Name] = s.State
		}
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

// overByKubelet says whether the kubelet itself says so, which it does when nothing of the pod runs any more or will; since Kubernetes
// 1.27 also of pods that are deleted. Who else sets a phase leaves this condition alone.
func overByKubelet(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.ContainersReady && c.Status == corev1.ConditionFalse && (c.Reason == "PodFailed" || c.Reason == "PodCompleted")
	})
}
