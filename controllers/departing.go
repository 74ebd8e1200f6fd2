package controllers

import (
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// departs says whether a process is on its way out or gone: its pod is being deleted, has ended, or is not there any more.
func departs(pod *corev1.Pod) bool {
	return pod == nil || pod.DeletionTimestamp != nil || ended(pod)
}

// rosterPriority is the priority that agents are told. A process that departs never coordinates again, so the hand-over begins
// when the deletion of its pod begins, and not when the agent, as a sidecar the last container of its pod, is told to end. It goes
// on voting: what becomes of a voter is the rules' business (docs/reference/lease.md, R5 and R6). No pod comes back from a deletion, so a
// roster changes once for it, not twice. The status table keeps showing the process's own priority.
func rosterPriority(spec *v1.ElectionGroupSpec, name string, pod *corev1.Pod) int32 {
	if departs(pod) {
		return 0
	}
	return priorityOf(spec, name)
}
