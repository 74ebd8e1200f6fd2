package group

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// overConditions are what a kubelet says of a pod that is over.
var overConditions = []corev1.PodCondition{
	{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, Reason: "PodFailed"},
}

func TestNothingRuns(t *testing.T) {
	deleting := func(s *scene) {
		s.pods[2].DeletionTimestamp = &metav1.Time{Time: s.now.Add(30 * time.Second)}
		s.pods[2].DeletionGracePeriodSeconds = new(int64(30))
	}
	status := func(s *scene) *corev1.PodStatus { return &s.pods[2].Status }
	disrupted := func(reason string) corev1.PodCondition {
		return corev1.PodCondition{
			Type:   corev1.DisruptionTarget,
			Status: corev1.ConditionTrue,
			Reason: reason,
		}
	}
	for _, test := range []struct {
		name string
		what func(*scene)
		want bool
	}{
		{"it runs", func(*scene) {}, false},
		{"its containers have ended, the pod for good", func(s *scene) { s.terminated(2) }, true},
		{"it has completed", func(s *scene) {
			s.terminated(2)
			status(s).Phase = corev1.PodSucceeded
			status(s).Conditions = []corev1.PodCondition{
				{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, Reason: "PodCompleted"},
			}
		}, true},
		{"its containers have ended, and will be started again", func(s *scene) {
			s.terminated(2)
			status(s).Phase = corev1.PodRunning
		}, false},
		{"its containers had ended and were to be started again, and then its pod is deleted", func(s *scene) {
			s.terminated(2)
			status(s).Phase = corev1.PodRunning
			deleting(s)
		}, false},
		{"the same, and then the pod of a lost node is called Failed", func(s *scene) {
			s.terminated(2)
			status(s).Conditions = []corev1.PodCondition{disrupted("DeletionByPodGC")}
		}, false},
		{"its kubelet says that they are not ready, and then the pod of a lost node is called Failed", func(s *scene) {
			s.terminated(2)
			status(s).Conditions = []corev1.PodCondition{
				{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"},
				disrupted("DeletionByPodGC"),
			}
		}, false},
		{"the same, and then the pod of a node that is out of service is called Failed", func(s *scene) {
			s.terminated(2)
			status(s).Conditions = nil
		}, false},
		{"it was evicted, and has ended", func(s *scene) {
			s.terminated(2)
			status(s).Conditions = append([]corev1.PodCondition{disrupted("EvictionByEvictionAPI")}, overConditions...)
			deleting(s)
		}, true},
		{"a pod of a lost node is called Failed", func(s *scene) { status(s).Phase = corev1.PodFailed }, false},
		{"its node was replaced under its name, and the new kubelet has not found a container", func(s *scene) {
			s.terminated(2)
			s.pods[2].Status.ContainerStatuses[0].State.Terminated.Reason = "ContainerStatusUnknown"
		}, false},
		{"the same, and the new kubelet has started it again before", func(s *scene) {
			s.terminated(2)
			s.pods[2].Status.ContainerStatuses[0].LastTerminationState.Terminated =
				&corev1.ContainerStateTerminated{Reason: "ContainerStatusUnknown"}
		}, false},
		{"of its containers one has ended", func(s *scene) {
			s.terminated(2)
			s.pods[2].Spec.Containers = append(s.pods[2].Spec.Containers, corev1.Container{Name: "other"})
		}, false},
		{"an init container runs again", func(s *scene) {
			s.terminated(2)
			s.pods[2].Spec.InitContainers = []corev1.Container{{Name: "init"}}
			status(s).InitContainerStatuses = []corev1.ContainerStatus{
				{Name: "init", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			}
		}, false},
		{"nothing is known of its containers", func(s *scene) {
			s.terminated(2)
			s.pods[2].Spec.Containers = nil
		}, false},
		{"another condition has the reason", func(s *scene) {
			s.terminated(2)
			status(s).Conditions = []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "PodFailed"},
			}
		}, false},
		{"the condition does not hold", func(s *scene) {
			s.terminated(2)
			status(s).Conditions = []corev1.PodCondition{
				{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, Reason: "PodFailed"},
			}
		}, false},
		{"all but its sidecar have ended", func(s *scene) {
			s.terminated(2)
			s.pods[2].Spec.InitContainers = []corev1.Container{
				{Name: v1.AgentContainer, RestartPolicy: new(corev1.ContainerRestartPolicyAlways)},
			}
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := voting(3)
			s.loses(2, 0)
			test.what(s)
			if got := nothingRuns(s.pods[2]); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
			if told := len(factsOf(s.observation).Ended) == 1; told != test.want {
				t.Errorf("the rules of voters are told of it: %v, want %v", told, test.want)
			}
		})
	}
}

// A pod's end is known when its last trace is gone, until nobody wants to know of it any more.
func TestEndedPodsAreKept(t *testing.T) {
	s := newGuarded(2)
	s.terminated(0)
	var e endedPods
	e.record(keyIn("g"), s.pods[0], noon)
	e.record(keyIn("g"), s.pods[0], noon.Add(time.Hour))
	e.record(keyIn("g"), s.pods[1], noon)
	known := s.knownPods(nil)
	e.prune(keyIn("g"), known)
	if got := e.of(keyIn("g"), known); len(got) != 1 || !got["uid-0"].Equal(noon) {
		t.Errorf("kept %v", got)
	}
	s.ended = e.of(keyIn("g"), known)
	if s.later(time.Hour); len(factsOf(s.observation).Ended) != 1 || !factsOf(s.observation).Ended[0].At.Equal(noon) {
		t.Errorf("the rules of voters are told %v", factsOf(s.observation).Ended)
	}
	if got := e.of(keyIn("g"), nil); len(got) != 0 {
		t.Errorf("nobody wants %v", got)
	}
	if e.prune(keyIn("g"), nil); len(e.groups) != 0 {
		t.Errorf("kept %v", e.groups)
	}
}
