package controllers

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// judgeAgent says what is wrong with the agent of a process. An agent that has reported is there, whatever its container is
// called. One whose version is not known, or when the manager's is not, is not called outdated.
func judgeAgent(p *process, version string) {
	switch {
	case p.seen != nil && version != "" && p.seen.Report.Version != "" && p.seen.Report.Version != version:
		p.agent, p.agentVersion = v1.AgentOutdated, p.seen.Report.Version
	case p.seen == nil && !p.joined && !departs(p.pod) && !hasAgent(p.pod):
		p.agent = v1.AgentMissing
	}
}

func hasAgent(pod *corev1.Pod) bool {
	isAgent := func(c corev1.Container) bool { return c.Name == v1.AgentContainer }
	return slices.ContainsFunc(pod.Spec.InitContainers, isAgent) || slices.ContainsFunc(pod.Spec.Containers, isAgent)
}

// missingAgents says which pods carry the group's label without an agent, and what to do about it; empty if none does.
func missingAgents(f facts) string {
	var pods, workloads []string
	for _, p := range f.processes {
		if p.agent == v1.AgentMissing {
			pods = append(pods, p.name)
			if w := workloadOf(p.pod); !slices.Contains(workloads, w) {
				workloads = append(workloads, w)
			}
		}
	}
	if len(pods) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: label %s=%s, but no agent (container %s): restart these workloads (%s), so that the agent is put in; where "+
		"nothing does that (Kubernetes before 1.36), apply their manifests through kubectl election inject", enumerate(pods),
		v1.GroupLabel, f.group.Name, v1.AgentContainer, enumerate(workloads))
}

// outdatedAgents says which agents are of another version than the manager, and what to do about it; empty if none is.
func outdatedAgents(f facts) string {
	outdated := names(f.processes, func(p process) bool { return p.agent == v1.AgentOutdated })
	if len(outdated) == 0 {
		return ""
	}
	return fmt.Sprintf("outdated agents, of another version than the manager's %s: %s; they elect all the same, and restarting their pods "+
		"brings the new one (docs/guides/upgrade.md)", f.version, enumerate(outdated))
}

// workloadOf is what is to be restarted for a pod to be made anew, as kubectl names it: what owns it, or the pod itself.
func workloadOf(pod *corev1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return "pod/" + pod.Name
	}
	deployment, hashed := strings.CutSuffix(owner.Name, "-"+pod.Labels["pod-template-hash"])
	if owner.Kind == "ReplicaSet" && hashed && pod.Labels["pod-template-hash"] != "" {
		return "deployment/" + deployment
	}
	return strings.ToLower(owner.Kind) + "/" + owner.Name
}

// complaint is one thing that is not well with a group.
type complaint struct{ reason, sentence string }

// complaints are all that is not well, the gravest first.
func complaints(f facts) []complaint {
	crashed := inState(f.rows, v1.ProcessCrashed)
	var unknown []string
	for _, row := range f.rows {
		if row.State == v1.ProcessUnknown && row.Agent != v1.AgentMissing {
			unknown = append(unknown, row.Name)
		}
	}
	var all []complaint
	if len(crashed) > 0 {
		all = append(all, complaint{"ProcessesCrashed", fmt.Sprintf("%s %s crashed", enumerate(crashed), be(len(crashed)))})
	}
	if f.choice.views > 1 {
		all = append(all, complaint{"ViewsDiffer",
			fmt.Sprintf("the processes that report name %d different coordinators", f.choice.views)})
	}
	if sentence := missingAgents(f); sentence != "" {
		all = append(all, complaint{reasonAgentMissing, sentence})
	}
	if len(unknown) > 0 {
		all = append(all, complaint{"ProcessesUnknown",
			fmt.Sprintf("%s %s out of the manager's sight", enumerate(unknown), be(len(unknown)))})
	}
	return all
}

// reasonAgentMissing is both a reason of condition Degraded and of an event.
const reasonAgentMissing = "AgentMissing"

// agentEvents tells that there are pods without an agent, once: while there are, it tells of no others.
func agentEvents(was, is v1.ElectionGroupStatus, advice string) []notification {
	missing := func(s v1.ElectionGroupStatus) bool {
		return slices.ContainsFunc(s.Processes, func(row v1.ProcessStatus) bool { return row.Agent == v1.AgentMissing })
	}
	if missing(was) || !missing(is) {
		return nil
	}
	return []notification{{corev1.EventTypeWarning, reasonAgentMissing, "Observe", advice}}
}
