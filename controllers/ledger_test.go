package controllers

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

func TestFoundingWaitsForLivePods(t *testing.T) {
	s := newGuarded(3)
	if d := s.pass(); s.voters() != "" || d.again != 0 {
		t.Fatalf("before anybody has joined: voters %q, again in %v", s.voters(), d.again)
	}
	s.sees("", 0)
	if d := s.pass(); s.voters() != "" || d.again != foundWithin {
		t.Fatalf("one of three has joined: voters %q, again in %v", s.voters(), d.again)
	}
	s.later(time.Second)
	s.sees("", 1)
	if d := s.pass(); s.voters() != "" || d.again != foundWithin-time.Second {
		t.Fatalf("two of three have joined: voters %q, again in %v", s.voters(), d.again)
	}
	third := *s
	third.sightings = map[types.UID]roster.Sighting{}
	third.sees("", 0, 1, 2)
	if third.pass(); third.voters() != "p-0 p-1 p-2" {
		t.Errorf("all have joined: voters %q", third.voters())
	}
	s.later(2 * time.Second)
	delete(s.sightings, "uid-2")
	if s.pass(); s.voters() != "p-0 p-1" {
		t.Errorf("three seconds after the first: voters %q", s.voters())
	}
}

// The status was wiped and the manager has started anew: nobody knows who the voters were. But an agent knows an older roster, so
// somebody may still act by it: all have to leave it first, and then a lease has to pass.
func TestFoundingAnewWaitsForALease(t *testing.T) {
	s := voting(3)
	s.observation.published, s.ledger = v1.ElectionGroupStatus{}, ledger{}
	s.later(time.Hour)
	s.pass()
	if d := s.pass(); s.voters() != "" || d.again == 0 {
		t.Fatalf("they use the old roster: voters %q, again in %v", s.voters(), d.again)
	}
	s.acknowledge()
	if d := s.pass(); s.voters() != "" || d.again != lease.Outlast(milliseconds(1000)) {
		t.Fatalf("they have just left it: voters %q, again in %v", s.voters(), d.again)
	}
	s.later(lease.Outlast(milliseconds(1000)))
	if s.pass(); s.voters() != "p-0 p-1 p-2" {
		t.Errorf("a lease later: voters %q", s.voters())
	}
}

// It is not known whether an inherited group had a roster: the first one waits for agents to say which one they use, and is above.
func TestFirstRosterOfAnInheritedGroup(t *testing.T) {
	s := newGuarded(2)
	s.inherited, s.begun = true, s.now.Add(-time.Second)
	s.sees("", 0)
	if d := s.pass(); d.roster != nil || d.again != settleWithin-time.Second {
		t.Fatalf("one has not reported: roster %+v, again in %v", d.roster, d.again)
	}
	late := *s
	late.later(settleWithin)
	if d := late.pass(); d.roster == nil {
		t.Error("ten seconds later there is no roster")
	}
	s.sees("", 1)
	ahead := nextGeneration(nil, s.observation) + 5
	s.edit(1, func(r *roster.Report) { r.Generation = ahead })
	if d := s.pass(); d.roster == nil || d.roster.Generation != ahead+1 || s.voters() != "" {
		t.Errorf("all have reported: roster %+v, voters %q; want generation %d without voters", d.roster, s.voters(), ahead+1)
	}
	classic := newScene(2)
	classic.inherited, classic.begun = true, classic.now
	if decideRoster(classic.observation).roster == nil {
		t.Error("a Classic group waits")
	}
}

// overConditions are what a kubelet says of a pod that is over.
var overConditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionFalse, Reason: "PodFailed"}}

func TestKnownToHaveEnded(t *testing.T) {
	deleting := func(s *scene, since time.Duration) {
		s.pods[2].DeletionTimestamp = &metav1.Time{Time: s.now.Add(-since).Add(30 * time.Second)}
		s.pods[2].DeletionGracePeriodSeconds = new(int64(30))
	}
	leave := func(s *scene) {
		s.edit(2, func(r *roster.Report) { r.Leaving = true })
		seen := s.sightings["uid-2"]
		seen.Connected, seen.Since = false, s.now
		s.sightings["uid-2"] = seen
	}
	for _, test := range []struct {
		name  string
		what  func(*scene)
		ended bool
	}{
		{"it is out of sight", func(s *scene) { s.loses(2, 0) }, false},
		{"its containers have ended, the pod for good", func(s *scene) { s.loses(2, 0); s.terminated(2) }, true},
		{"its containers have ended, and will be started again", func(s *scene) {
			s.loses(2, 0)
			s.terminated(2)
			s.pods[2].Status.Phase = corev1.PodRunning
		}, false},
		{"its containers had ended and were to be started again, and then its pod is deleted", func(s *scene) {
			s.loses(2, 0)
			s.terminated(2)
			s.pods[2].Status.Phase = corev1.PodRunning
			deleting(s, 0)
		}, false},
		{"its containers had ended and were to be started again, and then the pod of a lost node is called Failed", func(s *scene) {
			s.loses(2, 0)
			s.terminated(2)
			s.pods[2].Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByPodGC"}}
		}, false},
		{"its containers had ended and were to be started again, and then the pod of a node that is out of service is called Failed", func(s *scene) {
			s.loses(2, 0)
			s.terminated(2)
			s.pods[2].Status.Conditions = nil
		}, false},
		{"it was evicted, and has ended", func(s *scene) {
			s.loses(2, 0)
			s.terminated(2)
			s.pods[2].Status.Conditions = append([]corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI"}}, overConditions...)
			deleting(s, 0)
		}, true},
		{"a pod of a lost node is called Failed", func(s *scene) { s.loses(2, 0); s.pods[2].Status.Phase = corev1.PodFailed }, false},
		{"of its containers one has ended", func(s *scene) {
			s.loses(2, 0)
			s.terminated(2)
			s.pods[2].Spec.Containers = append(s.pods[2].Spec.Containers, corev1.Container{Name: "other"})
		}, false},
		{"all but its sidecar have ended", func(s *scene) {
			s.loses(2, 0)
			s.terminated(2)
			s.pods[2].Spec.InitContainers = []corev1.Container{{Name: v1.AgentContainer,
				RestartPolicy: new(corev1.ContainerRestartPolicyAlways)}}
		}, false},
		{"the informer saw it end, then it was gone", func(s *scene) {
			s.endings["uid-2"] = s.now
			s.pods = s.pods[:2]
		}, true},
		{"its pod is gone", func(s *scene) { s.loses(2, 0); s.pods = s.pods[:2] }, false},
		{"it said that it leaves", leave, false},
		{"it said that it leaves while its pod was being deleted", func(s *scene) { deleting(s, time.Second); leave(s) }, true},
		{"it said that it leaves, and later its pod was deleted", func(s *scene) {
			leave(s)
			s.later(10 * time.Second)
			deleting(s, 0)
		}, false},
		{"it said that it leaves, and is still connected", func(s *scene) {
			deleting(s, 0)
			s.edit(2, func(r *roster.Report) { r.Leaving = true })
		}, false},
		{"its pod came back with another memory", func(s *scene) { s.edit(2, func(r *roster.Report) { r.StateID = "new" }) }, true},
		{"it has not said which memory it has", func(s *scene) { s.edit(2, func(r *roster.Report) { r.StateID = "" }) }, false},
		{"its pod is gone for a day, and so are its certificates", func(s *scene) {
			s.loses(2, 0)
			s.pods = s.pods[:2]
			member(s, "p-2").GoneSince = metav1.NewTime(s.now.Add(-certificatesEnd - time.Second))
		}, true},
		{"its pod is gone for almost a day", func(s *scene) {
			s.loses(2, 0)
			s.pods = s.pods[:2]
			member(s, "p-2").GoneSince = metav1.NewTime(s.now.Add(-certificatesEnd + time.Second))
		}, false},
		{"an operator answers for it", func(s *scene) { s.loses(2, 0); member(s, "p-2").Forgotten = new(true) }, true},
		{"an operator answers for it, but it is connected", func(s *scene) { member(s, "p-2").Forgotten = new(true) }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := voting(3)
			test.what(s)
			s.ledger = s.ledger.advance(s.observation)
			if _, ended := s.ledger.ended["uid-2/m"]; ended != test.ended || len(s.ledger.ended) > 1 {
				t.Errorf("known to have ended: %v", s.ledger.ended)
			}
		})
	}
}

// What was known of a pod's end is known when its last trace is gone; what an agent disproves by connecting again is not.
func TestEndingsAreKept(t *testing.T) {
	s := voting(3)
	s.pods[2].DeletionTimestamp, s.pods[2].DeletionGracePeriodSeconds = &metav1.Time{Time: s.now}, new(int64(0))
	s.edit(2, func(r *roster.Report) { r.Leaving = true })
	seen := s.sightings["uid-2"]
	seen.Connected, seen.Since = false, s.now
	s.sightings["uid-2"] = seen
	s.ledger = s.ledger.advance(s.observation)
	s.pods = s.pods[:2]
	s.later(time.Second)
	s.ledger = s.ledger.advance(s.observation)
	if e := s.ledger.ended["uid-2/m"]; !e.at.Equal(s.now.Add(leavesWithin - time.Second)) {
		t.Errorf("it left, then its pod was gone: ended %+v", e)
	}
	seen.Connected = true // it was deleted by force, and runs all the same
	s.sightings["uid-2"] = seen
	s.ledger = s.ledger.advance(s.observation)
	if len(s.ledger.ended) != 0 {
		t.Errorf("it is connected: ended %+v", s.ledger.ended)
	}
}
