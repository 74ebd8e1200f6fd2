package group

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// depart has the deletion of a pod begin.
func (s *scene) depart(pod int) *scene {
	s.pods[pod].DeletionTimestamp = &metav1.Time{Time: s.now.Add(30 * time.Second)}
	return s
}

// The status shows a process's own priority, and a coordinator for as long as it is followed.
func TestADepartingCoordinatorIsShown(t *testing.T) {
	s := newScene(3).sees("p-2", 0, 1, 2).published().depart(2)
	v := decideStatus(s.observation, decideRoster(s.observation))
	if c := v.status.Coordinator; c == nil || c.Name != "p-2" || *c.Priority != 3 ||
		*v.status.Processes[2].Priority != 3 {
		t.Errorf("coordinator %+v, rows %+v", c, v.status.Processes)
	}
	s.loses(0, time.Hour).loses(1, time.Hour).loses(2, time.Hour)
	if c := decideStatus(s.observation, rosterDecision{}).status.Coordinator; c != nil {
		t.Errorf("nobody reports, and its pod is on its way out: %+v is shown", c)
	}
}

// Another pod has the name of the last coordinator's, and nobody reports.
func TestASuccessorOfThatNameIsNoCoordinator(t *testing.T) {
	s := newScene(3).sees("p-2", 0, 1, 2).published()
	clear(s.sightings)
	if c := decideStatus(s.observation, rosterDecision{}).status.Coordinator; c == nil {
		t.Error("nobody reports: the coordinator that was published is not kept")
	}
	s.pods[2].UID = "new"
	if c := decideStatus(s.observation, rosterDecision{}).status.Coordinator; c != nil {
		t.Errorf("a pod that has not joined is shown as the coordinator: %+v", c)
	}
}
