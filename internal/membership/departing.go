package membership

// MC8: Departing processes. A process whose pod is being deleted, has finished or is gone has
// priority 0 on the roster, for good. So it steps down, or is no candidate, when the deletion of
// its pod begins and not when the kubelet gets to its agent, as a sidecar the last container of its
// pod. It stays a voter until MC3, MC5 or MC6 removes it. No pod comes back from a deletion, so a
// roster changes once for it, not twice.

// priority returns what the roster says of a pod; nil is a pod that is gone.
func priority(pod *Pod) int32 {
	if departs(pod) {
		return 0
	}
	return pod.Priority
}

func departs(pod *Pod) bool { return pod == nil || pod.deleting() || pod.Finished }
