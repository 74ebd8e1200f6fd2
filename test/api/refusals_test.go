package api

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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

// byLabel gives priority 1 to each of these values of a label.
func byLabel(key string, values ...string) podestav1.PriorityPolicy {
	policy := podestav1.PriorityPolicy{From: podestav1.Label, Key: key}
	for _, value := range values {
		policy.Values = append(policy.Values,
			podestav1.LabelPriority{Value: value, Priority: ptr.To[int32](1)})
	}
	return policy
}

// numbers are "1" to n.
func numbers(n int) (all []string) {
	for i := range n {
		all = append(all, strconv.Itoa(i+1))
	}
	return all
}

// service has these ports, which are called port-0, port-1, …
func service(ports ...int32) *podestav1.CoordinatorService {
	s := &podestav1.CoordinatorService{}
	for i, port := range ports {
		s.Ports = append(s.Ports, podestav1.CoordinatorPort{Name: fmt.Sprintf("port-%d", i), Port: port})
	}
	return s
}

// TestRefusedCreation tries bad groups, each of which must be refused in words that say what is
// wrong. A nil message means that the group is good: these are the neighbours of the bad ones.
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
			`spec.priority.from: Unsupported value: "Node": supported values: "Ordinal", "ReverseOrdinal", "Label"`},
		{"priorities by a label", func(g *podestav1.ElectionGroup) {
			g.Spec.Priority = byLabel("topology.kubernetes.io/zone", "zone-a", "Zone_B.2")
		}, ""},
		{"priorities by a label without its key", func(g *podestav1.ElectionGroup) { g.Spec.Priority = byLabel("", "zone-a") },
			"from: Label requires key, which names the label, and values, which give priorities to its values"},
		{"priorities by a label without values", func(g *podestav1.ElectionGroup) { g.Spec.Priority = byLabel("zone") },
			"from: Label requires key, which names the label, and values, which give priorities to its values"},
		{"a key with priorities by ordinal", func(g *podestav1.ElectionGroup) {
			g.Spec.Priority = podestav1.PriorityPolicy{From: podestav1.Ordinal, Key: "zone"}
		}, "key and values require from: Label"},
		{"values without a source of priorities", func(g *podestav1.ElectionGroup) {
			g.Spec.Priority = byLabel("", "zone-a")
			g.Spec.Priority.From = ""
		}, "key and values require from: Label"},
		{"a key that no label can have", func(g *podestav1.ElectionGroup) { g.Spec.Priority = byLabel("a/b/c", "zone-a") },
			"key must be the key of a label, such as topology.kubernetes.io/zone"},
		{"a value that no label can have", func(g *podestav1.ElectionGroup) { g.Spec.Priority = byLabel("zone", "zone a") },
			"value must be the value of a label: letters, digits, '-', '_' and '.'"},
		{"the same value twice", func(g *podestav1.ElectionGroup) { g.Spec.Priority = byLabel("zone", "a", "b", "a") },
			`spec.priority.values[2]: Duplicate value: {"value":"a"}`},
		{"a value without a priority", func(g *podestav1.ElectionGroup) {
			g.Spec.Priority = byLabel("zone", "a")
			g.Spec.Priority.Values[0].Priority = nil
		}, "spec.priority.values[0].priority: Required value"},
		{"a value with a priority too high", func(g *podestav1.ElectionGroup) {
			g.Spec.Priority = byLabel("zone", "a")
			g.Spec.Priority.Values[0].Priority = ptr.To[int32](1_000_001)
		}, "spec.priority.values[0].priority in body should be less than or equal to 1000000"},
		{"as many values as there may be", func(g *podestav1.ElectionGroup) {
			g.Spec.Priority = byLabel("zone", numbers(64)...)
		}, ""},
		{"too many values", func(g *podestav1.ElectionGroup) { g.Spec.Priority = byLabel("zone", numbers(65)...) },
			"spec.priority.values: Too many: 65: must have at most 64 items"},

		{"the same process twice", func(g *podestav1.ElectionGroup) {
			g.Spec.Processes = append(processes(2, 1), processes(1, 7)...)
		}, `spec.processes[2]: Duplicate value: {"name":"scheduler-0"}`},
		{"a bad process name", func(g *podestav1.ElectionGroup) {
			g.Spec.Processes = []podestav1.Process{{Name: "Scheduler_0", Priority: ptr.To[int32](1)}}
		}, "spec.processes[0].name: Invalid value: \"Scheduler_0\": name must be a pod's name: lower case letters, digits, '-' and '.'"},
		{"too many processes", func(g *podestav1.ElectionGroup) { g.Spec.Processes = processes(101, 1) },
			"spec.processes: Too many: 101: must have at most 100 items"},
		{"as many processes as there may be", func(g *podestav1.ElectionGroup) { g.Spec.Processes = processes(podestav1.MaxProcesses, 1) }, ""},

		{"a timeout shorter than two heartbeats", func(g *podestav1.ElectionGroup) {
			g.Spec.Timing = podestav1.Timing{HeartbeatMilliseconds: 100, TimeoutMilliseconds: 199}
		}, "timeoutMilliseconds must be at least twice heartbeatMilliseconds"},
		{"a timeout of two heartbeats", func(g *podestav1.ElectionGroup) {
			g.Spec.Timing = podestav1.Timing{HeartbeatMilliseconds: 100, TimeoutMilliseconds: 200}
		}, ""},
		{"a heartbeat too long for the timeout of the profile: a condition says so", func(g *podestav1.ElectionGroup) {
			g.Spec.Timing.HeartbeatMilliseconds = 251
		}, ""},
		{"an unknown profile", func(g *podestav1.ElectionGroup) { g.Spec.Timing.Profile = "Slow" },
			`spec.timing.profile: Unsupported value: "Slow": supported values: "Fast", "Balanced", "Patient"`},
		{"a heartbeat too fast", func(g *podestav1.ElectionGroup) { g.Spec.Timing.HeartbeatMilliseconds = 9 },
			"spec.timing.heartbeatMilliseconds in body should be greater than or equal to 10"},

		{"a name of 52 characters", func(g *podestav1.ElectionGroup) { g.Name = strings.Repeat("a", 52) },
			"is invalid: metadata: Invalid value: metadata.name must not be longer than 51 characters, so that <name>-coordinator is a valid Service name"},
		{"a name of 51 characters", func(g *podestav1.ElectionGroup) { g.Name = strings.Repeat("a", 51) }, ""},

		{"an unknown safety", func(g *podestav1.ElectionGroup) { g.Spec.Safety = "Careless" },
			`spec.safety: Unsupported value: "Careless": supported values: "Guarded", "Classic"`},
		{"a lease of less than four heartbeats", func(g *podestav1.ElectionGroup) {
			g.Spec.Timing.HeartbeatMilliseconds, g.Spec.Timing.LeaseMaximumMilliseconds = 100, 399
		}, "timing.leaseMaximumMilliseconds must be at least 4 times timing.heartbeatMilliseconds: the lease is renewed with every heartbeat, and with a shorter lease"},
		{"a lease of four heartbeats", func(g *podestav1.ElectionGroup) {
			g.Spec.Timing.HeartbeatMilliseconds, g.Spec.Timing.LeaseMaximumMilliseconds = 100, 400
		}, ""},
		{"a Classic group has no lease that could be too short", func(g *podestav1.ElectionGroup) {
			g.Spec.Safety = podestav1.Classic
			g.Spec.Timing.HeartbeatMilliseconds, g.Spec.Timing.TimeoutMilliseconds = 251, 502
		}, ""},
		{"a lease too short", func(g *podestav1.ElectionGroup) {
			g.Spec.Timing.HeartbeatMilliseconds, g.Spec.Timing.LeaseMaximumMilliseconds = 10, 39
		}, "spec.timing.leaseMaximumMilliseconds in body should be greater than or equal to 40"},
		{"a lease too long", func(g *podestav1.ElectionGroup) { g.Spec.Timing.LeaseMaximumMilliseconds = 600_001 },
			"spec.timing.leaseMaximumMilliseconds in body should be less than or equal to 600000"},

		{"a shortest lease above the longest", func(g *podestav1.ElectionGroup) {
			g.Spec.Timing.LeaseMaximumMilliseconds, g.Spec.Timing.LeaseMinimumMilliseconds = 1000, 1001
		}, "timing.leaseMinimumMilliseconds must not be above timing.leaseMaximumMilliseconds"},
		{"a shortest lease like the longest", func(g *podestav1.ElectionGroup) {
			g.Spec.Timing.LeaseMaximumMilliseconds, g.Spec.Timing.LeaseMinimumMilliseconds = 1000, 1000
		}, ""},
		{"a shortest lease too short", func(g *podestav1.ElectionGroup) { g.Spec.Timing.LeaseMinimumMilliseconds = 39 },
			"spec.timing.leaseMinimumMilliseconds in body should be greater than or equal to 40"},

		{"a longest lease in a Classic group", func(g *podestav1.ElectionGroup) {
			g.Spec.Safety, g.Spec.Timing.LeaseMaximumMilliseconds = podestav1.Classic, 2000
		}, "timing.leaseMaximumMilliseconds and timing.leaseMinimumMilliseconds require safety Guarded: a Classic group has no leases"},
		{"a shortest lease in a Classic group", func(g *podestav1.ElectionGroup) {
			g.Spec.Safety, g.Spec.Timing.LeaseMinimumMilliseconds = podestav1.Classic, 100
		}, "timing.leaseMaximumMilliseconds and timing.leaseMinimumMilliseconds require safety Guarded: a Classic group has no leases"},
		{"an unknown preemption", func(g *podestav1.ElectionGroup) {
			g.Spec.Preemption = &podestav1.Preemption{Policy: "Sometimes"}
		}, `spec.preemption.policy: Unsupported value: "Sometimes": supported values: "Always", "Delayed", "Never"`},
		{"a higher process that must be stable for too long", func(g *podestav1.ElectionGroup) {
			g.Spec.Preemption = &podestav1.Preemption{StableSeconds: ptr.To[int32](3601)}
		}, "spec.preemption.stableSeconds in body should be less than or equal to 3600"},
		{"a delay of a policy that never delays", func(g *podestav1.ElectionGroup) {
			g.Spec.Preemption = &podestav1.Preemption{Policy: podestav1.Never, StableSeconds: ptr.To[int32](5)}
		}, "stableSeconds requires policy Delayed: with Always a process takes over at once, and with Never not at all"},
		{"a delay of a policy that takes over at once", func(g *podestav1.ElectionGroup) {
			g.Spec.Preemption = &podestav1.Preemption{Policy: podestav1.Always, StableSeconds: ptr.To[int32](0)}
		}, "stableSeconds requires policy Delayed"},
		{"preemption in a Classic group", func(g *podestav1.ElectionGroup) {
			g.Spec.Safety, g.Spec.Preemption = podestav1.Classic, &podestav1.Preemption{Policy: podestav1.Never}
		}, "spec.preemption requires safety Guarded: in a Classic group the process with the highest priority always takes over at once"},

		{"a Service", func(g *podestav1.ElectionGroup) { g.Spec.Service = service(80) }, ""},
		{"a Service without ports", func(g *podestav1.ElectionGroup) { g.Spec.Service = service() },
			"spec.service.ports: Required value"},
		{"a Service of 16 ports", func(g *podestav1.ElectionGroup) {
			g.Spec.Service = service(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
		}, ""},
		{"a Service of 17 ports", func(g *podestav1.ElectionGroup) {
			g.Spec.Service = service(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17)
		}, "spec.service.ports: Too many: 17: must have at most 16 items"},
		{"a port too high", func(g *podestav1.ElectionGroup) { g.Spec.Service = service(65536) },
			"spec.service.ports[0].port in body should be less than or equal to 65535"},
		{"no port", func(g *podestav1.ElectionGroup) { g.Spec.Service = service(0) }, "spec.service.ports[0].port: Required value"},
		{"a port twice", func(g *podestav1.ElectionGroup) { g.Spec.Service = service(80, 80) },
			`spec.service.ports[1]: Duplicate value: {"port":80,"protocol":"TCP"}`},
		{"a port once for each protocol", func(g *podestav1.ElectionGroup) {
			g.Spec.Service = service(53, 53)
			g.Spec.Service.Ports[1].Protocol = podestav1.UDP
		}, ""},
		{"an unknown protocol", func(g *podestav1.ElectionGroup) {
			g.Spec.Service = service(80)
			g.Spec.Service.Ports[0].Protocol = "ICMP"
		}, `spec.service.ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"`},
		{"one port needs no name", func(g *podestav1.ElectionGroup) {
			g.Spec.Service = service(80)
			g.Spec.Service.Ports[0].Name = ""
		}, ""},
		{"of two ports each needs one", func(g *podestav1.ElectionGroup) {
			g.Spec.Service = service(80, 81)
			g.Spec.Service.Ports[1].Name = ""
		}, "every port needs a name if there is more than one port"},
		{"two ports of one name", func(g *podestav1.ElectionGroup) {
			g.Spec.Service = service(80, 81)
			g.Spec.Service.Ports[1].Name = "port-0"
		}, "two ports have the same name"},
		{"a bad port name", func(g *podestav1.ElectionGroup) {
			g.Spec.Service = service(80)
			g.Spec.Service.Ports[0].Name = "Web_1"
		}, `spec.service.ports[0].name: Invalid value: "Web_1": name must consist of lower case letters, digits and '-'`},
		{"a target by number", func(g *podestav1.ElectionGroup) {
			g.Spec.Service = service(80)
			g.Spec.Service.Ports[0].TargetPort = new(intstr.FromInt32(65535))
		}, ""},
		{"a target by a number that is no port", func(g *podestav1.ElectionGroup) {
			g.Spec.Service = service(80)
			g.Spec.Service.Ports[0].TargetPort = new(intstr.FromInt32(65536))
		}, "targetPort must be a number from 1 to 65535 or the name of a container's port (at most 15 characters)"},
		{"a target by name", func(g *podestav1.ElectionGroup) {
			g.Spec.Service = service(80)
			g.Spec.Service.Ports[0].TargetPort = new(intstr.FromString("fifteen-letters"))
		}, ""},
		{"a target by a name that no port can have", func(g *podestav1.ElectionGroup) {
			g.Spec.Service = service(80)
			g.Spec.Service.Ports[0].TargetPort = new(intstr.FromString("sixteen-letters-"))
		}, "targetPort must be a number from 1 to 65535 or the name of a container's port (at most 15 characters)"},
		{"a bad appProtocol", func(g *podestav1.ElectionGroup) {
			g.Spec.Service = service(80)
			g.Spec.Service.Ports[0].AppProtocol = "a b"
		}, "appProtocol must be a qualified name, such as http or kubernetes.io/h2c"},
		{"a name that no Service can have", func(g *podestav1.ElectionGroup) { g.Name, g.Spec.Service = "shop.scheduler", service(80) },
			"is invalid: metadata: Invalid value: with spec.service, metadata.name must consist of lower case letters, digits and '-' and start with a letter"},
		{"the same name without a Service", func(g *podestav1.ElectionGroup) { g.Name = "shop.scheduler" }, ""},
		{"a name of a digit", func(g *podestav1.ElectionGroup) { g.Name, g.Spec.Service = "7", service(80) },
			"is invalid: metadata: Invalid value: with spec.service, metadata.name must consist of lower case letters, digits and '-' and start with a letter"},
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

// TestElectionsAreBounded: the manager writes ten elections at most, and no word that is not in the
// API; see controllers/group.
func TestElectionsAreBounded(t *testing.T) {
	group := newGroup(newNamespace(t))
	if err := kube.Create(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	full := podestav1.ElectionStatus{
		At: metav1.NowMicro(), ID: strings.Repeat("n", 253) + "/18446744073709551615/18446744073709551615", Reason: "Asked",
		Initiator: strings.Repeat("n", 253), Algorithm: podestav1.LeLann, Messages: new(int32(1<<31 - 1)),
		DurationMilliseconds: new(int64(1 << 53)), From: strings.Repeat("n", 253), To: strings.Repeat("n", 253),
		Epoch: 1<<53 - 1, DisplayEpoch: "8589934591.1048575",
	}
	for _, test := range []struct {
		count   int
		change  func(*podestav1.ElectionStatus)
		message string
	}{
		{10, func(*podestav1.ElectionStatus) {}, ""},
		{1, func(e *podestav1.ElectionStatus) { *e = podestav1.ElectionStatus{At: e.At, To: e.To} }, ""},
		{11, func(*podestav1.ElectionStatus) {}, "must have at most 10 items"},
		{1, func(e *podestav1.ElectionStatus) { e.To = "" }, "status.elections[0].to"},
		{1, func(e *podestav1.ElectionStatus) { e.At = metav1.MicroTime{} }, "status.elections[0].at"},
		{1, func(e *podestav1.ElectionStatus) { e.Reason = "Whim" }, "status.elections[0].reason"},
		{1, func(e *podestav1.ElectionStatus) { e.Algorithm = "Dice" }, "status.elections[0].algorithm"},
		{1, func(e *podestav1.ElectionStatus) { e.ID += "n" + strings.Repeat("n", 10) }, "status.elections[0].id"},
	} {
		e := full
		test.change(&e)
		changed := group.DeepCopy()
		changed.Status.Elections = slices.Repeat([]podestav1.ElectionStatus{e}, test.count)
		err := kube.Status().Update(t.Context(), changed)
		checkRefusal(t, err, test.message)
		if err == nil {
			group = changed
		}
	}
}

// checkRefusal checks that the server took the object (no message), or called it invalid in words
// that contain the message.
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
