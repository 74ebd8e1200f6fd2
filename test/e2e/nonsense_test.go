package e2e

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/stage"
)

// The group is edited to nonsense that the API server can tell: it is refused in words that say
// what is wrong, and nothing changes. (test/api has every rule and its limits; here is what a user
// would write, on a group that runs.)
func nonsenseRefused(t *testing.T) {
	g := newGroup(t, "nonsense-refused")
	before := g.settled()
	said := g.chronicle()
	said.agree("scheduler-4")
	begun := time.Now()
	for _, nonsense := range []struct {
		says string
		edit func(*v1.ElectionGroupSpec)
	}{
		{`spec.algorithm: Unsupported value: "Paxos": supported values: "Bully"`, func(s *v1.ElectionGroupSpec) { s.Algorithm = "Paxos" }},
		{`spec.processes[5]: Duplicate value: {"name":"scheduler-0"}`, func(s *v1.ElectionGroupSpec) {
			s.Processes = append(s.Processes, v1.Process{Name: "scheduler-0", Priority: ptr.To[int32](60)})
		}},
		{"spec.processes[0].priority in body should be greater than or equal to 0", func(s *v1.ElectionGroupSpec) { s.Processes[0].Priority = ptr.To[int32](-1) }},
		{"spec.processes[0].priority in body should be less than or equal to 1000000", func(s *v1.ElectionGroupSpec) {
			s.Processes[0].Priority = ptr.To[int32](math.MaxInt32)
		}},
		{"spec.processes[0].priority: Required value", func(s *v1.ElectionGroupSpec) { s.Processes[0].Priority = nil }},
		{"name must be a pod's name", func(s *v1.ElectionGroupSpec) { s.Processes[0].Name = "shop/scheduler-0" }},
		{"spec.processes: Too many: 300: must have at most 256 items", func(s *v1.ElectionGroupSpec) {
			s.Processes = nil
			for i := range 300 {
				s.Processes = append(s.Processes, v1.Process{Name: fmt.Sprintf("scheduler-%d", i), Priority: ptr.To[int32](1)})
			}
		}},
		{"timing.leaseMilliseconds (default 1000) must be at least 4 times timing.heartbeatMilliseconds", func(s *v1.ElectionGroupSpec) {
			s.Timing = v1.Timing{HeartbeatMilliseconds: 1000, TimeoutMilliseconds: 5000, LeaseMilliseconds: 1000}
		}},
		{"timeoutMilliseconds (default 500) must be at least twice heartbeatMilliseconds", func(s *v1.ElectionGroupSpec) {
			s.Timing = v1.Timing{HeartbeatMilliseconds: 500, TimeoutMilliseconds: 500, LeaseMilliseconds: 2000}
		}},
		{"spec.timing.heartbeatMilliseconds in body should be greater than or equal to 10", func(s *v1.ElectionGroupSpec) {
			s.Timing.HeartbeatMilliseconds = 1
		}},
		{"spec.safety cannot be changed: delete the group and create it again", func(s *v1.ElectionGroupSpec) { s.Safety, s.Preemption = v1.Classic, nil }},
		{`spec.preemption.policy: Unsupported value: "Maybe"`, func(s *v1.ElectionGroupSpec) { s.Preemption = &v1.Preemption{Policy: "Maybe"} }},
		{"spec.service.ports: Required value", func(s *v1.ElectionGroupSpec) { s.Service = &v1.CoordinatorService{} }},
	} {
		err := g.Edit(t.Context(), nonsense.edit)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), nonsense.says) {
			t.Errorf("got %v; want it refused because of %q", err, nonsense.says)
		}
	}
	if after, err := g.Read(t.Context()); err != nil || after.Generation != before.Generation || !equality.Semantic.DeepEqual(after.Status.Coordinator, before.Status.Coordinator) ||
		!equality.Semantic.DeepEqual(after.Status.Roster, before.Status.Roster) {
		t.Errorf("what was refused changed the group (%v): generation %d, %+v; it was %d, %+v", err, after.Generation, after.Status,
			before.Generation, before.Status)
	}
	said.undisturbed(begun, "scheduler-4")
}

// The group is edited to nonsense that only the pods show to be some: the status names it, with the
// reason, and undoing it is enough.
func nonsenseNamed(t *testing.T) {
	g := newGroup(t, "nonsense-named")
	epoch := g.settled().Status.Coordinator.Epoch
	g.edit(always)
	said := g.chronicle()
	good := g.spec()

	nonsense := time.Now()
	g.edit(func(s *v1.ElectionGroupSpec) { // nobody may coordinate
		s.Priority.Default = ptr.To[int32](0)
		for i := range s.Processes {
			s.Processes[i].Priority = ptr.To[int32](0)
		}
	})
	g.says(v1.ConditionStalled, "NoCandidate", "every process has priority 0")
	g.told(nonsense, "NoCandidate", "every process has priority 0")
	said.stops("scheduler-4") // the status speaks of the spec, which the agents hear of a moment later
	g.await("no coordinator in the status", func(eg *v1.ElectionGroup) bool { return eg.Status.Coordinator == nil })
	g.edit(func(s *v1.ElectionGroupSpec) { *s = *good.DeepCopy() })
	epoch = g.holds("scheduler-4", epoch).Status.Coordinator.Epoch
	g.agree("scheduler-4")

	g.edit(func(s *v1.ElectionGroupSpec) { // a pod that does not exist is the highest
		s.Processes = append(s.Processes, v1.Process{Name: "shceduler-5", Priority: ptr.To[int32](100)})
	})
	g.says(v1.ConditionDegraded, "ProcessesCrashed", "shceduler-5 has crashed")
	if eg := g.holds("scheduler-4", epoch-1); stage.State(eg, "shceduler-5") != v1.ProcessCrashed {
		t.Errorf("the table has shceduler-5 as %q", stage.State(eg, "shceduler-5"))
	}
	g.edit(func(s *v1.ElectionGroupSpec) { *s = *good.DeepCopy() })
	g.shows("scheduler-4")

	resume := stands(t, managerPID(t)) // or there would be hundreds of rosters, one after another
	nonsense = time.Now()
	g.crowd(295) // the label is on far too many pods
	resume()
	g.says(v1.ConditionStalled, "TooManyProcesses", "300 pods carry the label podesta.dev/group=scheduler, but a group has at most 256 processes")
	g.told(nonsense, "TooManyProcesses", "a group has at most 256 processes")
	said.acts(g.holds("", epoch-1).Status.Coordinator.Name)
	g.must(g.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(g.Namespace), client.MatchingLabels{crowded: "true"}, client.GracePeriodSeconds(0)))
	g.await("five processes", func(eg *v1.ElectionGroup) bool {
		return len(eg.Status.Processes) == 5 && reconciled(eg) && condition(eg, v1.ConditionStalled) == "False"
	})
	g.shows("scheduler-4")

	lonely := newGroup(t, "nonsense-lonely") // no pod carries the label of this group
	lonely.must(lonely.ApplyFile(t.Context(), root+"/config/samples/podesta_v1_electiongroup.yaml"))
	lonely.says(v1.ConditionReady, "NoProcesses", "no running pod carries the label podesta.dev/group=scheduler")
}

func (g *group) spec() *v1.ElectionGroupSpec {
	g.t.Helper()
	eg, err := g.Read(g.t.Context())
	g.must(err)
	return &eg.Spec
}

// says waits until a condition has that reason and its message contains a text.
func (g *group) says(kind, reason, text string) {
	g.t.Helper()
	g.await(fmt.Sprintf("condition %s with reason %s", kind, reason), func(eg *v1.ElectionGroup) bool {
		for _, c := range eg.Status.Conditions {
			if c.Type == kind && c.Reason == reason && strings.Contains(c.Message, text) {
				return eg.Status.ObservedGeneration == eg.Generation
			}
		}
		return false
	})
}

// crowded is on the pods of a crowd only.
const crowded = "crowded"

// crowd makes pods of the group that wait for their node for ever.
func (g *group) crowd(n int) {
	g.t.Helper()
	template, err := template(root + "/config/samples/pods.yaml")
	g.must(err)
	for i := range n {
		pod := template.DeepCopy()
		pod.Namespace, pod.Name = g.Namespace, fmt.Sprintf("crowd-%d", i)
		pod.Labels = map[string]string{v1.GroupLabel: g.Group, crowded: "true"}
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "podesta.dev/never"}}
		g.must(g.Create(g.t.Context(), pod))
	}
}
