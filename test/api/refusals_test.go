package api

import (
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
)

// processes names n processes, all of the same priority.
func processes(n int, priority int32) []podestav1.Process {
	list := make([]podestav1.Process, n)
	for i := range list {
		list[i] = podestav1.Process{Name: fmt.Sprintf("scheduler-%d", i), Priority: &priority}
	}
	return list
}

// TestRefusedCreation tries bad groups, each of which must be refused in words that say what is wrong. A nil message means
// that the group is good: these are the neighbours of the bad ones.
func TestRefusedCreation(t *testing.T) {
	namespace := newNamespace(t)
	tests := []struct {
		name    string
		change  func(*podestav1.ElectionGroup)
		message string
	}{
		{"unknown algorithm", func(g *podestav1.ElectionGroup) { g.Spec.Algorithm = "Paxos" },
			`spec.algorithm: Unsupported value: "Paxos": supported values: "Bully", "StatusTableBully", "LeLann", "ChangRoberts", "RingList", "ActiveListRing"`},

		{"negative priority", func(g *podestav1.ElectionGroup) { g.Spec.Processes = processes(1, -1) },
			"spec.processes[0].priority: Invalid value: -1: spec.processes[0].priority in body should be greater than or equal to 0"},
		{"priority too high", func(g *podestav1.ElectionGroup) { g.Spec.Processes = processes(1, 1_000_001) },
			"spec.processes[0].priority in body should be less than or equal to 1000000"},
		{"lowest priority", func(g *podestav1.ElectionGroup) { g.Spec.Processes = processes(1, 0) }, ""},
		{"highest priority", func(g *podestav1.ElectionGroup) { g.Spec.Processes = processes(1, 1_000_000) }, ""},
		{"default priority too high", func(g *podestav1.ElectionGroup) { g.Spec.Priority.Default = ptr.To[int32](1_000_001) },
			"spec.priority.default in body should be less than or equal to 1000000"},
		{"process without a priority", func(g *podestav1.ElectionGroup) { g.Spec.Processes = []podestav1.Process{{Name: "a"}} },
			"spec.processes[0].priority: Required value"},
		{"unknown source of priorities", func(g *podestav1.ElectionGroup) { g.Spec.Priority.From = "Node" },
			`spec.priority.from: Unsupported value: "Node": supported values: "Ordinal"`},

		{"the same process twice", func(g *podestav1.ElectionGroup) {
			g.Spec.Processes = append(processes(2, 1), processes(1, 7)...)
		}, `spec.processes[2]: Duplicate value: {"name":"scheduler-0"}`},
		{"a bad process name", func(g *podestav1.ElectionGroup) {
			g.Spec.Processes = []podestav1.Process{{Name: "Scheduler_0", Priority: ptr.To[int32](1)}}
		}, "spec.processes[0].name: Invalid value: \"Scheduler_0\": name must be a pod's name: lower case letters, digits, '-' and '.'"},
		{"too many processes", func(g *podestav1.ElectionGroup) { g.Spec.Processes = processes(257, 1) },
			"spec.processes: Too many: 257: must have at most 256 items"},
		{"as many processes as there may be", func(g *podestav1.ElectionGroup) { g.Spec.Processes = processes(256, 1) }, ""},

		{"a timeout shorter than two heartbeats", func(g *podestav1.ElectionGroup) {
			g.Spec.Timing = podestav1.Timing{HeartbeatMilliseconds: 100, TimeoutMilliseconds: 199}
		}, "timeoutMilliseconds (500 unless set) must be at least twice heartbeatMilliseconds"},
		{"a timeout of two heartbeats", func(g *podestav1.ElectionGroup) {
			g.Spec.Timing = podestav1.Timing{HeartbeatMilliseconds: 100, TimeoutMilliseconds: 200}
		}, ""},
		{"a heartbeat too long for the default timeout", func(g *podestav1.ElectionGroup) {
			g.Spec.Timing.HeartbeatMilliseconds = 251
		}, "timeoutMilliseconds (500 unless set) must be at least twice heartbeatMilliseconds"},
		{"a heartbeat too fast", func(g *podestav1.ElectionGroup) { g.Spec.Timing.HeartbeatMilliseconds = 9 },
			"spec.timing.heartbeatMilliseconds in body should be greater than or equal to 10"},

		{"a name of 52 characters", func(g *podestav1.ElectionGroup) { g.Name = strings.Repeat("a", 52) },
			"metadata.name may have at most 51 characters, so that <name>-coordinator is a valid Service name"},
		{"a name of 51 characters", func(g *podestav1.ElectionGroup) { g.Name = strings.Repeat("a", 51) }, ""},

		{"a safety that is not there yet", func(g *podestav1.ElectionGroup) { g.Spec.Safety = "Guarded" },
			`spec.safety: Unsupported value: "Guarded": supported values: "Classic"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			group := newGroup(namespace)
			test.change(group)
			err := kube.Create(t.Context(), group, client.DryRunAll)
			checkRefusal(t, err, test.message)
		})
	}
}

func TestRosterGenerationNeverDecreases(t *testing.T) {
	group := newGroup(newNamespace(t))
	if err := kube.Create(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		generation int64
		message    string
	}{
		{generation: 10},
		{generation: 10},
		{generation: 9, message: "the roster's generation never decreases"},
		{generation: 11},
	} {
		changed := group.DeepCopy()
		changed.Status.Roster = &podestav1.RosterStatus{Generation: step.generation}
		err := kube.Status().Update(t.Context(), changed)
		checkRefusal(t, err, step.message)
		if err == nil {
			group = changed
		}
	}
}

// checkRefusal checks that the server took the object (no message), or called it invalid in words that contain the message.
func checkRefusal(t *testing.T, err error, message string) {
	t.Helper()
	switch {
	case message == "" && err != nil:
		t.Errorf("refused: %v", err)
	case message != "" && err == nil:
		t.Errorf("accepted; want it refused with %q", message)
	case message != "" && !apierrors.IsInvalid(err):
		t.Errorf("got %v; want it called invalid", err)
	case message != "" && !strings.Contains(err.Error(), message):
		t.Errorf("refused with %q; want %q in it", err, message)
	}
}
