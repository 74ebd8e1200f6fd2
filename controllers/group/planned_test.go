package group

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// revisions has a StatefulSet own the pods, by revision.
func revisions(s *scene, all ...string) {
	for i, revision := range all {
		s.pods[i] = s.pods[i].DeepCopy()
		s.pods[i].Labels = map[string]string{"controller-revision-hash": revision}
		s.pods[i].OwnerReferences = []metav1.OwnerReference{
			{Kind: "StatefulSet", Name: "p", Controller: new(true)},
		}
	}
}

// What somebody wanted is no warning, and the election says which of these it was. What failed is a
// warning still, also when something is wanted of the former coordinator later.
func TestPlannedEnds(t *testing.T) {
	deleted := func(s *scene, conditions ...corev1.PodCondition) {
		pod := s.pods[2].DeepCopy()
		pod.DeletionTimestamp = new(metav1.NewTime(noon))
		pod.Status.Conditions = conditions
		s.pods[2] = pod
		s.edit(2, func(r *roster.Report) { r.Leaving, r.Withdrawn = true, true })
		s.loses(2, 0)
	}
	// p-1 takes over from p-2, and agents tell that reason
	elect := func(s *scene, reason, initiator string) {
		s.sees("p-1", 0, 1).tells(0, "p-1/1/1", initiator, reason).tells(1, "p-1/1/1", initiator, reason)
	}
	for name, test := range map[string]struct {
		happens func(*scene)
		reason  string
		events  string
	}{
		"killed": {func(s *scene) {
			elect(s, "CoordinatorUnreachable", "p-1")
			s.loses(2, 0).accuses(0, "p-2")
		}, "CoordinatorUnreachable", "!ProcessCrashed !CoordinatorLost CoordinatorElected"},
		"killed, and its app starts again at once": {func(s *scene) {
			s.sees("p-1", 0, 1, 2)
			for i := range 3 {
				s.tells(i, "p-2/2/1", "p-2", "Asked")
			}
			s.tells(2, "p-2/2/1", "p-2", "Started")
		}, "CoordinatorUnreachable", "!CoordinatorLost CoordinatorElected"},
		"it stands still": {func(s *scene) {
			elect(s, "CoordinatorUnreachable", "p-1")
			s.loses(2, 0).reports(0, "p-2", roster.NotAnswering)
		}, "CoordinatorUnreachable", "!ProcessNotAnswering !CoordinatorLost CoordinatorElected"},
		"its pod is deleted": {func(s *scene) {
			deleted(s)
			elect(s, "Withdrawn", "p-2")
		}, "HandedOver", "ProcessEnded HandedOver CoordinatorElected"},
		"SIGTERM": {func(s *scene) {
			s.edit(2, func(r *roster.Report) { r.Leaving = true })
			s.loses(2, 0)
			elect(s, "Withdrawn", "p-2")
		}, "HandedOver", "ProcessEnded HandedOver CoordinatorElected"},
		"a drain": {func(s *scene) {
			revisions(s, "a", "a", "b")
			deleted(s, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				Reason: "EvictionByEvictionAPI"})
			elect(s, "Withdrawn", "p-2")
		}, "Drained", "ProcessEnded Drained CoordinatorElected"},
		"a rollout": {func(s *scene) {
			revisions(s, "b", "a", "a")
			deleted(s)
			elect(s, "Withdrawn", "p-2")
		}, "Rolled", "ProcessEnded Rolled CoordinatorElected"},
		"a rollout is over": {func(s *scene) {
			revisions(s, "b", "b", "b")
			deleted(s)
			elect(s, "Withdrawn", "p-2")
		}, "HandedOver", "ProcessEnded HandedOver CoordinatorElected"},
		"an operator asked it to step down": {func(s *scene) {
			s.observation.published.Roster.StepDown = &v1.StepDownStatus{Process: "p-2",
				Outcome: v1.StepDownStanding}
			s.sees("p-1", 2)
			elect(s, "RosterChanged", "p-1")
		}, "SteppedDown", "SteppedDown CoordinatorElected"},
		"its app is unhealthy": {func(s *scene) {
			s.sees("p-1", 2)
			s.edit(2, func(r *roster.Report) { r.Withdrawn, r.NotCandidate = true, "Unhealthy" })
			elect(s, "Withdrawn", "p-2")
		}, "Withdrawn", "!CoordinatorLost CoordinatorElected"},
		"none coordinates yet": {func(s *scene) {
			deleted(s)
			s.sees("", 0, 1)
		}, "", "ProcessEnded HandedOver"},
		"its pod is gone, and it said that it withdraws": {func(s *scene) {
			s.pods = s.pods[:2]
			elect(s, "Withdrawn", "p-2")
		}, "HandedOver", "HandedOver CoordinatorElected"},
		"its pod is gone, and nobody told": {func(s *scene) {
			s.pods = s.pods[:2]
			elect(s, "CoordinatorUnreachable", "p-1")
		}, "CoordinatorUnreachable", "!CoordinatorLost CoordinatorElected"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(3).sees("p-2", 0, 1, 2).published().shown()
			test.happens(s)
			d := decideStatus(s.observation, rosterDecision{})
			if got := kinds(d.events); got != test.events {
				t.Errorf("events: got %s, want %s", got, test.events)
			}
			if d.status.Coordinator == nil {
				return
			}
			e := d.status.Elections[0]
			if string(e.Reason) != test.reason || e.From != "p-2" ||
				e.Initiator == "p-2" && test.reason == "CoordinatorUnreachable" {
				t.Errorf("got %+v, want %s", e, test.reason)
			}
		})
	}
}

// kinds are the reasons of events; a warning begins with an exclamation mark.
func kinds(all []notification) string {
	var some []string
	for _, n := range all {
		if n.kind == corev1.EventTypeWarning {
			n.reason = "!" + n.reason
		}
		some = append(some, n.reason)
	}
	return strings.Join(some, " ")
}

func TestPreemptedIsNoLoss(t *testing.T) {
	for _, reason := range []string{"Started", "Asked"} {
		s := newScene(3).sees("p-1", 0, 1).published().shown()
		s.sees("p-2", 0, 1, 2).tells(2, "p-2/1/1", "p-2", reason)
		d := decideStatus(s.observation, rosterDecision{})
		if got, want := kinds(d.events), "Preempted CoordinatorElected"; got != want ||
			d.status.Elections[0].Reason != "Preempted" {
			t.Errorf("agents say %s: events %s, want %s; %+v", reason, got, want, d.status.Elections[0])
		}
	}
	s := newScene(3).sees("p-1", 0, 1).published().shown()
	s.sees("p-2", 0, 1, 2)
	s.edit(1, func(r *roster.Report) { r.NotCandidate = "Unhealthy" })
	d := decideStatus(s.observation, rosterDecision{})
	if got, want := kinds(d.events), "!CoordinatorLost CoordinatorElected"; got != want ||
		d.status.Elections[0].Reason != "Withdrawn" {
		t.Errorf("its app is unhealthy: events %s, want %s; %+v", got, want, d.status.Elections[0])
	}
	s = newScene(3).sees("p-1", 0, 1).published().shown()
	s.sees("p-2", 0, 2).tells(2, "p-2/1/1", "p-2", "Started").loses(1, 0).accuses(0, "p-1")
	if got, want := kinds(decideStatus(s.observation, rosterDecision{}).events),
		"!ProcessCrashed !CoordinatorLost CoordinatorElected"; got != want {
		t.Errorf("the coordinator has failed, and a higher one follows: got %s, want %s", got, want)
	}
}

// An entry says why its election was held, and what becomes of the former coordinator later is
// nothing to it. But the first pod that a StatefulSet replaces shows the rollout only then.
func TestAReasonStays(t *testing.T) {
	s := newScene(3).sees("p-2", 0, 1, 2).published().shown()
	s.sees("p-1", 0, 1).tells(1, "p-1/1/1", "p-1", "CoordinatorUnreachable").loses(2, 0).accuses(0, "p-2")
	s.write()
	s.pods[2] = s.pods[2].DeepCopy()
	s.pods[2].DeletionTimestamp = new(metav1.NewTime(noon))
	if got := s.write(); !strings.HasPrefix(got, "p-2>p-1(p-1 CoordinatorUnreachable") {
		t.Errorf("it failed, and its pod was deleted after that: %s", got)
	}
	for after, want := range map[time.Duration]string{time.Second: "Rolled", time.Hour: "HandedOver"} {
		s := newScene(3).sees("p-2", 0, 1, 2).published().shown()
		revisions(s, "a", "a", "a")
		s.edit(2, func(r *roster.Report) { r.Leaving = true })
		s.loses(2, 0).sees("p-1", 0, 1).tells(1, "p-1/1/1", "p-2", "Withdrawn")
		if got := s.write(); !strings.HasPrefix(got, "p-2>p-1(p-2 HandedOver") {
			t.Fatalf("it hands over: %s", got)
		}
		revisions(s, "a", "a", "b")
		s.pods[2].UID = "new"
		s.later(after)
		if got := s.write(); !strings.HasPrefix(got, fmt.Sprintf("p-2>p-1(p-2 %s", want)) {
			t.Errorf("a pod of another revision, %v later: %s, want %s", after, got, want)
		}
	}
}

// A name in the spec that never had a pod has not crashed. One that had, has.
func TestANameWithoutAPod(t *testing.T) {
	s := newScene(3).sees("p-2", 0, 1, 2)
	s.group.Spec.Processes = []v1.Process{{Name: "p-0"}, {Name: "p-9", Priority: new(int32(5))}}
	s.published().shown()
	state := func() string { return tableOf(decideStatus(s.observation, rosterDecision{})) }
	if got, want := state(), "p-0:Normal:p-2 p-1:Normal:p-2 p-2:Coordinator:p-2 p-9:Unknown:"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	degraded := conditionsIn(decideStatus(s.observation, rosterDecision{}))
	if !strings.Contains(degraded, "Degraded=True/ProcessesMissing") {
		t.Errorf("conditions %s", degraded)
	}
	s.pods = s.pods[1:]
	if got := state(); !strings.HasPrefix(got, "p-0:Crashed: ") {
		t.Errorf("p-0 is gone: %s", got)
	}
}

// A process that stands still keeps its connection to the manager. It does not answer the process
// that leads, which is what counts, unless the two are cut off from each other.
func TestWhoStandsStillDoesNotAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		happens func(*scene)
		want    string
	}{
		"a follower": {func(s *scene) { s.reports(2, "p-1", roster.NotAnswering) },
			"p-0:Normal:p-2 p-1:NotAnswering: p-2:Coordinator:p-2"},
		"the coordinator, and another one leads": {func(s *scene) {
			s.holding("p-1", 8, 0, 1).reports(1, "p-2", roster.NotAnswering)
		}, "p-0:Normal:p-1 p-1:Coordinator:p-1 p-2:NotAnswering:"},
		"the coordinator, with so many others that nobody else leads": {func(s *scene) {
			s.at(roster.LeaseNoMajority, 0).reports(0, "p-2", roster.NotAnswering)
		}, "p-0:Normal: p-1:Normal:p-2 p-2:NotAnswering:"},
		"a majority that leads without one that is cut off": {func(s *scene) {
			s.at(roster.LeaseNoMajority, 0).reports(0, "p-2", roster.NotAnswering).reports(2, "p-0", roster.NotAnswering)
		}, "p-0:Normal: p-1:Normal:p-2 p-2:Coordinator:p-2"},
		"one of two that lost each other": {func(s *scene) {
			s.reports(2, "p-1", roster.NotAnswering).reports(1, "p-2", roster.NotAnswering)
		}, "p-0:Normal:p-2 p-1:Normal:p-2 p-2:Coordinator:p-2"},
		"says one that does not lead": {func(s *scene) { s.reports(0, "p-1", roster.NotAnswering) },
			"p-0:Normal:p-2 p-1:Normal:p-2 p-2:Coordinator:p-2"},
		"its link was closed, and its connection is open": {func(s *scene) { s.accuses(2, "p-1") },
			"p-0:Normal:p-2 p-1:Normal:p-2 p-2:Coordinator:p-2"},
		"says one that has yet to ask the voters": {func(s *scene) {
			s.at(roster.LeaseElecting, 0).reports(0, "p-2", roster.NotAnswering)
		}, "p-0:Normal: p-1:Normal:p-2 p-2:Coordinator:p-2"},
		"a new process that has yet to follow somebody": {func(s *scene) {
			s.at(roster.LeaseElecting, 1).reports(2, "p-1", roster.NotAnswering)
		}, "p-0:Normal:p-2 p-1:Normal: p-2:Coordinator:p-2"},
		"a majority with the coordinator": {func(s *scene) {
			s.at(roster.LeaseNoMajority, 0)
			s.reports(0, "p-1", roster.NotAnswering).reports(0, "p-2", roster.NotAnswering)
		}, "p-0:Normal: p-1:NotAnswering: p-2:NotAnswering:"},
		"a majority without the coordinator, whose lease is over": {func(s *scene) {
			s.at(roster.LeaseElecting, 2)
			s.reports(2, "p-0", roster.NotAnswering).reports(2, "p-1", roster.NotAnswering)
		}, "p-0:NotAnswering: p-1:NotAnswering: p-2:Normal:"},
		"a majority that elects without one that is cut off": {func(s *scene) {
			s.at(roster.LeaseNoMajority, 0).at(roster.LeaseElecting, 1, 2)
			s.reports(0, "p-1", roster.NotAnswering).reports(0, "p-2", roster.NotAnswering)
		}, "p-0:Normal: p-1:Normal: p-2:Normal:"},
	} {
		t.Run(name, func(t *testing.T) {
			s := voting(3).holding("p-2", 7, 0, 1, 2).shown()
			test.happens(s)
			d := decideStatus(s.observation, rosterDecision{})
			if got := tableOf(d); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			for _, row := range d.status.Processes {
				if silent := row.State == v1.ProcessNotAnswering; *row.Connected == silent {
					t.Errorf("connected is %t of %s, which is %s", *row.Connected, row.Name, row.State)
				}
			}
		})
	}
}
