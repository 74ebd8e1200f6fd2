package group

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// reasonContainersFailing is a reason of condition Degraded.
const reasonContainersFailing = "ContainersFailing"

// failing names the containers that fail beside the agent of a process that runs, such as the app,
// and says why. A pod that is to end stops its containers one by one, so it has none that fail.
func failing(p process, row v1.ProcessStatus) string {
	runs := row.State == v1.ProcessNormal || row.State == v1.ProcessCoordinator
	if !runs && p.agent != v1.AgentMissing || departing(p.pod) {
		return ""
	}
	var all []string
	for _, c := range slices.Concat(p.pod.Status.InitContainerStatuses,
		p.pod.Status.ContainerStatuses) {
		if why := containerTrouble(c); why != "" && c.Name != v1.AgentContainer {
			all = append(all, why)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s)", p.name, strings.Join(all, ", "))
}

// trouble returns what Kubernetes says of a pod that does not work: which containers do not run,
// why, and how often they were restarted. It is empty if Kubernetes says nothing of that.
func trouble(pod *corev1.Pod) string {
	if pod == nil {
		return "there is no such pod"
	}
	if finished(pod) {
		if pod.Status.Reason == "" {
			return string(pod.Status.Phase)
		}
		return pod.Status.Reason
	}
	var all []string
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if why := containerTrouble(c); why != "" {
			all = append(all, why)
		}
	}
	return strings.Join(all, ", ")
}

// containerTrouble returns why a container does not run: CrashLoopBackOff after OOMKilled.
func containerTrouble(c corev1.ContainerStatus) string {
	var why string
	switch state := c.State; {
	case state.Terminated != nil:
		if why = ending(state.Terminated); why == "Completed" {
			return "" // an init container that has done its work
		}
	case state.Waiting == nil, state.Waiting.Reason == "",
		state.Waiting.Reason == "ContainerCreating", state.Waiting.Reason == "PodInitializing":
		return ""
	default:
		why = state.Waiting.Reason
		if last := c.LastTerminationState.Terminated; last != nil {
			why += " after " + ending(last)
		}
	}
	if c.RestartCount > 0 {
		why += fmt.Sprintf(", %d %s", c.RestartCount,
			plural(int(c.RestartCount), "restart", "restarts"))
	}
	return c.Name + ": " + why
}

// ending is how a container ended.
func ending(t *corev1.ContainerStateTerminated) string {
	if t.Reason == "" || t.Reason == "Error" {
		return fmt.Sprintf("exit code %d", t.ExitCode)
	}
	return t.Reason
}

// withTrouble names processes, all of them, each with what Kubernetes says of its pod.
func withTrouble(names []string, all []process) string {
	said := slices.Clone(names)
	for i, name := range names {
		for _, p := range all {
			if p.name != name {
				continue
			}
			if why := trouble(p.pod); why != "" {
				said[i] += " (" + why + ")"
			}
		}
	}
	return strings.Join(said, ", ")
}
