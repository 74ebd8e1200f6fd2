package group

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// judgeAgent finds what is wrong with the agent of a process. An agent that has reported exists,
// whatever its container is called. It is not called outdated if its version, or the manager's, is
// not known.
func judgeAgent(p *process, version string) {
	switch {
	case p.seen != nil && version != "" && p.seen.Report.Version != "" &&
		p.seen.Report.Version != version:
		p.agent, p.agentVersion = v1.AgentOutdated, p.seen.Report.Version
	case p.seen == nil && !p.joined && !departing(p.pod) && !hasAgent(p.pod):
		p.agent = v1.AgentMissing
	}
}

func hasAgent(pod *corev1.Pod) bool {
	isAgent := func(c corev1.Container) bool { return c.Name == v1.AgentContainer }
	return slices.ContainsFunc(pod.Spec.InitContainers, isAgent) ||
		slices.ContainsFunc(pod.Spec.Containers, isAgent)
}

// missingAgents describes which pods carry the group's label without an agent, and what to do about
// it; empty if none does.
func missingAgents(f findings) string {
	var pods, workloads []string
	for _, p := range f.processes {
		if p.agent == v1.AgentMissing {
			pods = append(pods, p.name)
			workloads = appendNew(workloads, workloadOf(p.pod))
		}
	}
	if len(pods) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"%s %s the label %s=%s but no agent (container %s), so %s no part. Restart these "+
			"workloads (%s): the agent is injected when their pods are created. Where nothing "+
			"injects it (Kubernetes before 1.36), apply their manifests through kubectl election "+
			"inject", enumerate(pods),
		plural(len(pods), "has", "have"), v1.GroupLabel, f.group.Name, v1.AgentContainer,
		plural(len(pods), "it takes", "they take"), enumerate(workloads))
}

// outdatedAgents describes which agents are of another version than the manager, and what to do
// about it; empty if none is.
func outdatedAgents(f findings) string {
	outdated := names(f.processes, func(p process) bool { return p.agent == v1.AgentOutdated })
	if len(outdated) == 0 {
		return ""
	}
	return fmt.Sprintf(
		"outdated agents, of another version than the manager (%s): %s. They take part all the "+
			"same. Restart their pods to update them (docs/guides/upgrade.md)", f.version,
		enumerate(outdated))
}

// workloadOf returns what to restart so that the pod is created anew, as kubectl names it: its
// owner, or the pod itself.
func workloadOf(pod *corev1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return "pod/" + pod.Name
	}
	deployment, hashed := strings.CutSuffix(owner.Name, "-"+pod.Labels[podHashLabel])
	if owner.Kind == "ReplicaSet" && hashed && pod.Labels[podHashLabel] != "" {
		return "deployment/" + deployment
	}
	return strings.ToLower(owner.Kind) + "/" + owner.Name
}

// reasonAgentMissing is both a reason of condition Degraded and of an event.
const reasonAgentMissing = "AgentMissing"

// agentEvents tells that there are pods without an agent, once: while there are, it does not tell
// of others.
func agentEvents(was, is v1.ElectionGroupStatus, advice string) []notification {
	missing := func(s v1.ElectionGroupStatus) bool {
		return slices.ContainsFunc(s.Processes,
			func(row v1.ProcessStatus) bool { return row.Agent == v1.AgentMissing })
	}
	if missing(was) || !missing(is) {
		return nil
	}
	return []notification{{corev1.EventTypeWarning, reasonAgentMissing, "Observe", advice}}
}
