package group

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// An app that fails beside an agent that runs is named, with its reason and its restarts. So is one
// of a pod without an agent. A pod that ends, or one whose process is named already, is not.
func TestContainersThatFailBesideTheAgent(t *testing.T) {
	const says = "containers fail in p-1 (app: CrashLoopBackOff after exit code 3, 7 restarts)"
	backOff := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for name, test := range map[string]struct {
		change func(*scene)
		want   string
	}{
		"the app crashes": {func(*scene) {}, says},
		"in a pod without an agent": {func(s *scene) {
			delete(s.sightings, s.pods[1].UID)
			s.pods[1].Spec.InitContainers = nil
		}, says},
		"the pod is being deleted": {func(s *scene) {
			s.pods[1].DeletionTimestamp = &metav1.Time{Time: noon}
		}, ""},
		"its process does not report": {func(s *scene) { delete(s.sightings, s.pods[1].UID) }, ""},
		"the agent itself, as the API server has it": {func(s *scene) {
			s.pods[1].Status.ContainerStatuses[0].Name = v1.AgentContainer
		}, ""},
		"it runs again": {func(s *scene) {
			s.pods[1].Status.ContainerStatuses[0].State = running
		}, ""},
	} {
		s := newScene(3).sees("p-2", 0, 1, 2)
		s.pods[1].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", RestartCount: 7,
			State: backOff, LastTerminationState: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 3}}}}
		test.change(s)
		d := decideStatus(s.observation, decideRoster(s.observation))
		degraded := meta.FindStatusCondition(d.status.Conditions, v1.ConditionDegraded)
		is := slices.Contains(d.degraded, reasonContainersFailing)
		if is != (test.want != "") || !strings.Contains(degraded.Message, test.want) {
			t.Errorf("%s: condition Degraded is %s: %s", name, degraded.Reason, degraded.Message)
		}
	}
}
