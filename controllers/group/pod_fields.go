package group

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// podHashLabel is the label by which a Deployment's pods name the ReplicaSet that made them.
const podHashLabel = "pod-template-hash"

// PodFields replaces a pod by one that has what this package reads of pods, and nothing else: a pod
// as the API server sends it is six times as large, and the manager keeps all pods of all groups.
// It is the cache's transform. Pods from the cache are never written back (see byuid).
//
// What reads another field of a pod must keep it here: TestPodFields.
func PodFields(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil, fmt.Errorf("a cache of pods got a %T", object)
	}
	return &corev1.Pod{
		ObjectMeta: podMeta(pod),
		Spec: corev1.PodSpec{
			InitContainers: containerFields(pod.Spec.InitContainers),
			Containers:     containerFields(pod.Spec.Containers),
		},
		Status: corev1.PodStatus{
			Phase:                 pod.Status.Phase,
			Reason:                pod.Status.Reason,
			PodIP:                 pod.Status.PodIP,
			Conditions:            conditionFields(pod.Status.Conditions),
			InitContainerStatuses: statusFields(pod.Status.InitContainerStatuses),
			ContainerStatuses:     statusFields(pod.Status.ContainerStatuses),
		},
	}, nil
}

// podMeta keeps a pod's identity, its age, its deletion, its controller, and its labels: each of
// them may be the one from which a group derives priorities.
func podMeta(pod *corev1.Pod) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{
		Namespace:                  pod.Namespace,
		Name:                       pod.Name,
		UID:                        pod.UID,
		ResourceVersion:            pod.ResourceVersion,
		CreationTimestamp:          pod.CreationTimestamp,
		DeletionTimestamp:          pod.DeletionTimestamp,
		DeletionGracePeriodSeconds: pod.DeletionGracePeriodSeconds,
		Labels:                     pod.Labels,
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		meta.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return meta
}

// containerFields keeps names, what makes a sidecar, and the port of the agent's link server.
func containerFields(all []corev1.Container) []corev1.Container {
	some := make([]corev1.Container, len(all))
	for i := range all {
		some[i] = corev1.Container{Name: all[i].Name, RestartPolicy: all[i].RestartPolicy}
		for _, port := range all[i].Ports {
			if port.Name == linkPort {
				some[i].Ports = append(some[i].Ports,
					corev1.ContainerPort{Name: port.Name, ContainerPort: port.ContainerPort})
			}
		}
	}
	return some
}

// conditionFields keeps the condition in which the kubelet says that a pod is over, and that it is
// evicted.
func conditionFields(all []corev1.PodCondition) (some []corev1.PodCondition) {
	for _, c := range all {
		if c.Type == corev1.ContainersReady || c.Type == corev1.DisruptionTarget {
			some = append(some,
				corev1.PodCondition{
					Type:   c.Type,
					Status: c.Status,
					Reason: c.Reason,
				})
		}
	}
	return some
}

// statusFields keeps which containers run, wait or have ended, why, and how often they restarted.
func statusFields(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	some := make([]corev1.ContainerStatus, len(all))
	for i := range all {
		some[i] = corev1.ContainerStatus{
			Name:                 all[i].Name,
			State:                stateFields(all[i].State),
			LastTerminationState: stateFields(all[i].LastTerminationState),
			RestartCount:         all[i].RestartCount,
		}
	}
	return some
}

func stateFields(state corev1.ContainerState) (kept corev1.ContainerState) {
	switch {
	case state.Running != nil:
		kept.Running = &corev1.ContainerStateRunning{}
	case state.Terminated != nil:
		kept.Terminated = &corev1.ContainerStateTerminated{
			Reason:   state.Terminated.Reason,
			ExitCode: state.Terminated.ExitCode,
		}
	case state.Waiting != nil:
		kept.Waiting = &corev1.ContainerStateWaiting{Reason: state.Waiting.Reason}
	}
	return kept
}
