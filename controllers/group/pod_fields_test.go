package group

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers/byuid"
)

// readings are all that this package reads of a pod, by the functions that read it.
func readings(pod *corev1.Pod) map[string]any {
	spec := &v1.ElectionGroupSpec{Priority: byLabel("app", "orders", 9)}
	return map[string]any{
		"podFact":     fmt.Sprintf("%+v", podFact(pod, spec, nil)),
		"byuid":       byuid.PodOf(pod),
		"version":     pod.ResourceVersion,
		"madeBefore":  madeBefore(pod, time.Unix(1e9, 0)),
		"group":       pod.Labels[v1.GroupLabel],
		"role":        pod.Labels[v1.RoleLabel],
		"departing":   departing(pod),
		"agentEnded":  agentEnded(pod),
		"hasAgent":    hasAgent(pod),
		"nothingRuns": nothingRuns(pod),
		"trouble":     trouble(pod),
		"failing":     failing(process{pod: pod}, v1.ProcessStatus{State: v1.ProcessNormal}),
		"workloadOf":  workloadOf(pod),
	}
}

// somePods are pods that differ in everything that is read of them.
func somePods() map[string]*corev1.Pod {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	over := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	crashing := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	states := func(agent, app corev1.ContainerState) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Status.InitContainerStatuses = []corev1.ContainerStatus{
				{Name: v1.AgentContainer, Image: "agent", State: *agent.DeepCopy()}}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", State: *app.DeepCopy()}}
		}
	}
	ended := func(reason string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			states(over, over)(pod)
			pod.Status.Phase = corev1.PodFailed
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
				Type: corev1.ContainersReady, Status: corev1.ConditionFalse, Reason: reason})
		}
	}
	owned := func(kind, name string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{
				{Kind: "Tool", Name: "other"},
				{Kind: kind, Name: name, Controller: new(true)}}
			pod.Labels["pod-template-hash"] = "5d9"
		}
	}
	pods := map[string]*corev1.Pod{}
	for name, edit := range map[string]func(*corev1.Pod){
		"new":         func(*corev1.Pod) {},
		"young":       func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.Unix(2e9, 0) },
		"running":     states(running, running),
		"crashing":    states(crashing, running),
		"agent ended": states(over, running),
		"ended":       ended("PodFailed"),
		"lost":        ended("NodeLost"),
		"not found by its kubelet": func(pod *corev1.Pod) {
			ended("PodFailed")(pod)
			pod.Status.ContainerStatuses[0].State.Terminated.Reason = "ContainerStatusUnknown"
		},
		"not found before": func(pod *corev1.Pod) {
			ended("PodFailed")(pod)
			pod.Status.ContainerStatuses[0].LastTerminationState = corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown"}}
		},
		"restarted": func(pod *corev1.Pod) {
			states(crashing, running)(pod)
			pod.Status.InitContainerStatuses[0].RestartCount = 5
			pod.Status.InitContainerStatuses[0].LastTerminationState = corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}}
		},
		"evicted": func(pod *corev1.Pod) { pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted" },
		"half ended": func(pod *corev1.Pod) {
			ended("PodFailed")(pod)
			pod.Status.ContainerStatuses[0].State = running
		},
		"no sidecar ended": func(pod *corev1.Pod) {
			ended("PodFailed")(pod)
			pod.Spec.InitContainers[0].RestartPolicy = nil
			pod.Status.InitContainerStatuses = nil
		},
		"deleted": func(pod *corev1.Pod) {
			pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(1e9, 0)}
			pod.DeletionGracePeriodSeconds = new(int64(30))
		},
		"no label":      func(pod *corev1.Pod) { delete(pod.Labels, "app") },
		"witness":       func(pod *corev1.Pod) { pod.Labels[v1.WitnessLabel] = v1.WitnessTrue },
		"coordinator":   func(pod *corev1.Pod) { pod.Labels[v1.RoleLabel] = v1.RoleCoordinator },
		"no agent":      func(pod *corev1.Pod) { pod.Spec.InitContainers = nil },
		"no app":        func(pod *corev1.Pod) { pod.Spec.Containers = nil },
		"other port":    func(pod *corev1.Pod) { pod.Spec.InitContainers[0].Ports[0].ContainerPort = 5041 },
		"no address":    func(pod *corev1.Pod) { pod.Status.PodIP = "" },
		"StatefulSet":   owned("StatefulSet", "orders"),
		"Deployment":    owned("ReplicaSet", "orders-5d9"),
		"no controller": func(pod *corev1.Pod) { pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Tool"}} },
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:       "shop",
				Name:            "orders-3",
				UID:             "uid-3",
				ResourceVersion: "7",
				Labels:          map[string]string{v1.GroupLabel: "orders", "app": "orders"},
				Annotations:     map[string]string{"note": "for people"},
			},
			Spec: corev1.PodSpec{
				NodeName: "node-1",
				InitContainers: []corev1.Container{{Name: v1.AgentContainer, Image: "agent",
					RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
					Ports: []corev1.ContainerPort{
						{Name: linkPort, ContainerPort: 4041}, {Name: "podesta-status", ContainerPort: 4042}}}},
				Containers: []corev1.Container{{Name: "app", Image: "app",
					Env: []corev1.EnvVar{{Name: "SECRET", Value: "of the app"}}}},
			},
			Status: corev1.PodStatus{
				Phase:      corev1.PodRunning,
				PodIP:      "10.0.0.1",
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			},
		}
		edit(pod)
		pods[name] = pod
	}
	return pods
}

// Of a pod from the cache the same is read as of the pod itself, and nothing of the app's but labels is kept.
func TestPodFields(t *testing.T) {
	distinct := map[string]bool{}
	for name, pod := range somePods() {
		kept, err := PodFields(pod.DeepCopy())
		if err != nil {
			t.Fatal(err)
		}
		small, ok := kept.(*corev1.Pod)
		if !ok {
			t.Fatalf("%s became a %T", name, kept)
		}
		want, got := readings(pod), readings(small)
		for reader, is := range want {
			if !reflect.DeepEqual(got[reader], is) {
				t.Errorf("%s: %s reads %v, and %v of the pod itself", name, reader, got[reader], is)
			}
		}
		distinct[fmt.Sprint(want)] = true
		if len(small.Annotations) > 0 || small.Spec.NodeName != "" {
			t.Errorf("%s keeps what nobody reads: %+v", name, small.ObjectMeta)
		}
		for _, c := range small.Spec.Containers {
			if c.Image != "" || len(c.Env) > 0 {
				t.Errorf("%s keeps the app's settings: %+v", name, c)
			}
		}
	}
	if len(distinct) < 13 {
		t.Errorf("%d kinds of pods are read differently: too few to compare", len(distinct))
	}
	if _, err := PodFields(&corev1.ConfigMap{}); err == nil {
		t.Error("a ConfigMap passes for a pod")
	}
}
