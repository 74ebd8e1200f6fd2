package podrunner

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// status is the pod's status as a kubelet writes it. Conditions keep the time of their last
// transition from the previous status.
func (p *podState) status(
	pod *corev1.Pod, previous []corev1.PodCondition, now time.Time,
) corev1.PodStatus {
	s := corev1.PodStatus{
		ObservedGeneration: pod.Generation,
		Phase:              p.phase(),
		HostIP:             hostIP,
		HostIPs:            []corev1.HostIP{{IP: hostIP}},
		StartTime:          &metav1.Time{Time: p.admitted},
	}
	if p.refused != (refusal{}) {
		s.Reason, s.Message = p.refused.reason, p.refused.message
	}
	if p.address.IsValid() {
		s.PodIP = p.address.String()
		s.PodIPs = []corev1.PodIP{{IP: s.PodIP}}
	}
	for i := range p.containers {
		c := &p.containers[i]
		if !c.sidecar {
			s.ContainerStatuses = append(s.ContainerStatuses, p.containerStatus(c))
		} else {
			s.InitContainerStatuses = append(s.InitContainerStatuses, p.containerStatus(c))
		}
	}
	s.Conditions = p.conditions(pod, previous, now)
	return s
}

func (p *podState) phase() corev1.PodPhase {
	if !p.initialized() {
		return corev1.PodPending
	}
	for i := range p.containers {
		if c := &p.containers[i]; !c.sidecar && !c.running() && c.last == nil {
			return corev1.PodPending
		}
	}
	return corev1.PodRunning
}

func (p *podState) initialized() bool {
	for i := range p.containers {
		if c := &p.containers[i]; c.sidecar && !c.passed {
			return false
		}
	}
	return true
}

func (p *podState) conditions(
	pod *corev1.Pod, previous []corev1.PodCondition, now time.Time,
) []corev1.PodCondition {
	initialized := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	if !p.initialized() {
		initialized.Status, initialized.Reason = corev1.ConditionFalse, "ContainersNotInitialized"
	}
	containers := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}
	if unready := p.unready(); len(unready) > 0 {
		containers.Status, containers.Reason = corev1.ConditionFalse, "ContainersNotReady"
		containers.Message = fmt.Sprintf("containers with unready status: %v", unready)
	}
	ready := containers
	if shut := shutGates(pod); ready.Status == corev1.ConditionTrue && len(shut) > 0 {
		ready.Status, ready.Reason = corev1.ConditionFalse, "ReadinessGatesNotReady"
		ready.Message = strings.Join(shut, ", ")
	}
	ready.Type = corev1.PodReady

	all := []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, initialized, containers, ready,
	}
	for i := range all {
		all[i].ObservedGeneration = pod.Generation
		all[i].LastTransitionTime = metav1.NewTime(now)
		for _, before := range previous {
			if before.Type == all[i].Type && before.Status == all[i].Status {
				all[i].LastTransitionTime = before.LastTransitionTime
			}
		}
	}
	return all
}

// shutGates says why readiness gates are shut: their conditions, which other programs set, are not
// True.
func shutGates(pod *corev1.Pod) (why []string) {
	for _, gate := range pod.Spec.ReadinessGates {
		i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType
		})
		if i < 0 {
			why = append(why, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.",
				gate.ConditionType))
		} else if status := pod.Status.Conditions[i].Status; status != corev1.ConditionTrue {
			why = append(why, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v",
				gate.ConditionType, status))
		}
	}
	return why
}

// unready names the containers that keep the pod from being ready.
func (p *podState) unready() []string {
	var names []string
	for i := range p.containers {
		if c := &p.containers[i]; !c.ready {
			names = append(names, c.spec.Name)
		}
	}
	return names
}

func (p *podState) containerStatus(c *container) corev1.ContainerStatus {
	startup := c.running() && c.startup
	s := corev1.ContainerStatus{
		Name:         c.spec.Name,
		Image:        c.spec.Image,
		RestartCount: c.restarts,
		Ready:        c.running() && c.ready,
		Started:      &startup,
	}
	terminated := c.terminated()
	switch {
	case c.running():
		s.ContainerID = containerID(c.pid)
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(c.started)}
		s.LastTerminationState.Terminated = terminated
	case terminated != nil && !p.deadline.IsZero():
		s.ContainerID = terminated.ContainerID
		s.State.Terminated = terminated
	default:
		s.State.Waiting = p.waiting(c)
		s.LastTerminationState.Terminated = terminated
	}
	return s
}

func (p *podState) waiting(c *container) *corev1.ContainerStateWaiting {
	switch {
	case p.refused != refusal{}:
		return &corev1.ContainerStateWaiting{Reason: p.refused.reason, Message: p.refused.message}
	case c.problem != refusal{}:
		return &corev1.ContainerStateWaiting{Reason: c.problem.reason, Message: c.problem.message}
	case c.last != nil:
		return &corev1.ContainerStateWaiting{
			Reason:  "CrashLoopBackOff",
			Message: "back-off restarting container " + c.spec.Name,
		}
	case p.mounted && !p.initialized():
		return &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	default:
		return &corev1.ContainerStateWaiting{Reason: "ContainerCreating", Message: p.mountProblem}
	}
}

func (c *container) terminated() *corev1.ContainerStateTerminated {
	if c.last == nil {
		return nil
	}
	t := &corev1.ContainerStateTerminated{
		ExitCode:    int32(c.last.Code),   //nolint:gosec // a wait status has 8 bits
		Signal:      int32(c.last.Signal), //nolint:gosec // so has a signal
		Reason:      "Error",
		StartedAt:   metav1.NewTime(c.last.Started),
		FinishedAt:  metav1.NewTime(c.last.Finished),
		ContainerID: containerID(c.lastPID),
	}
	if c.last.Code == 0 {
		t.Reason = "Completed"
	}
	return t
}

func containerID(pid int) string { return fmt.Sprintf("process://%d", pid) }
