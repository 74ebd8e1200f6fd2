package group

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// A process that ends, or ceases to coordinate, because somebody wants that, has not failed. Agents
// cannot tell a drain from a rollout, so the manager names these reasons itself, from pods and from
// requests. If nothing shows that it was wanted, it counts as a failure.

// plannedReasons are the reasons of elections that were wanted, and what each says of the
// coordinator before.
var plannedReasons = map[v1.ElectionReason]string{
	v1.ReasonSteppedDown: "an operator asked it to step down",
	v1.ReasonDrained:     "its pod was evicted",
	v1.ReasonRolled:      "its pod ends during a rollout",
	v1.ReasonHandedOver:  "it ends because it was asked to",
	v1.ReasonPreempted:   "a process with a higher priority took over",
}

// withdrew is the reason that a coordinator gives for an election that it calls itself, when it
// ceases to be a candidate.
const withdrew v1.ElectionReason = "Withdrawn"

// endings returns, by name, why somebody wants processes to end, or to stop coordinating. If the
// pod is gone, the reason is empty: somebody deleted it, and the process may have failed before
// that.
func endings(all []process, o observation) map[string]v1.ElectionReason {
	rolls := rollout(o.pods)
	reasons := map[string]v1.ElectionReason{}
	for _, p := range all {
		switch deleted := p.pod != nil && p.pod.DeletionTimestamp != nil; {
		case p.pod == nil:
			reasons[p.name] = ""
		case p.aside || p.last != nil && p.last.NotCandidate == v1.NotCandidateSteppedDown:
			reasons[p.name] = v1.ReasonSteppedDown
		case deleted && evicted(p.pod):
			reasons[p.name] = v1.ReasonDrained
		case deleted && rolls:
			reasons[p.name] = v1.ReasonRolled
		case deleted, p.seen != nil && (p.seen.Report.Leaving || p.seen.Report.Left):
			reasons[p.name] = v1.ReasonHandedOver
		}
	}
	return reasons
}

// evicted reports whether the API server was asked to evict a pod, as kubectl drain does.
func evicted(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue &&
			c.Reason == "EvictionByEvictionAPI"
	})
}

// rollout reports whether the pods of one workload are of different revisions. The first pod that a
// StatefulSet replaces is deleted before there is a pod of the new revision.
func rollout(pods []*corev1.Pod) bool {
	revisions := map[string]string{}
	for _, pod := range pods {
		revision := pod.Labels[podHashLabel] + pod.Labels[appsv1.ControllerRevisionHashLabelKey]
		if revision == "" || finished(pod) {
			continue
		}
		workload := workloadOf(pod)
		if known, ok := revisions[workload]; ok && known != revision {
			return true
		}
		revisions[workload] = revision
	}
	return false
}

// rolloutShows is within what time after an election the pod that replaces the former coordinator
// shows that this was a rollout.
const rolloutShows = 2 * time.Minute

// plan adds to the newest entry that its election was wanted, if something shows that when the
// manager first sees the result. Later deletions of the former coordinator are no cause of it.
func plan(e v1.ElectionStatus, isNew bool, all []process, o observation) v1.ElectionStatus {
	if e.From == "" || e.From == e.To {
		return e
	}
	if !isNew {
		if e.Reason == v1.ReasonHandedOver && o.now.Sub(e.At.Time) < rolloutShows && rollout(o.pods) {
			e.Reason = v1.ReasonRolled
		}
		return e
	}
	reason := endings(all, o)[e.From]
	gone := !slices.ContainsFunc(all, func(p process) bool { return p.name == e.From && p.pod != nil })
	switch {
	case reason != "":
	case gone && e.Reason == withdrew && e.Initiator == e.From:
		reason = v1.ReasonHandedOver
	default:
		reason = takeover(e, all)
	}
	if reason != "" && rank(string(reason)) < rank(string(e.Reason)) {
		e.Reason = reason
	}
	return e
}

// takeover returns why a former coordinator that still reports gave way, if no agent says so: a
// lease may be passed on without an election. Empty: not known.
func takeover(e v1.ElectionStatus, all []process) v1.ElectionReason {
	var from, to process
	for _, p := range all {
		switch p.name {
		case e.From:
			from = p
		case e.To:
			to = p
		}
	}
	switch {
	case !from.connected():
		return ""
	case !withdrawn(from.seen.Report) && to.priority > from.priority:
		return v1.ReasonPreempted
	case withdrawn(from.seen.Report) && e.Reason == "":
		return withdrew
	default:
		return ""
	}
}
