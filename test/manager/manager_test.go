package manager

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers"
	"github.com/podesta-dev/podesta/controllers/agentserver"
	"github.com/podesta-dev/podesta/internal/roster"
)

// three is a group of three processes that follow scheduler-2, with everything written that is to
// be written.
func three(t *testing.T, m *manager) (namespace string, processes []*process) {
	t.Helper()
	namespace = newNamespace(t)
	newGroup(t, namespace)
	for i := range 3 {
		processes = append(processes, join(t, m, newPod(t, namespace, i), nil))
	}
	for _, p := range processes {
		p.Hears(t, "a roster of three that have joined", func(u roster.Update) bool {
			return u.Roster != nil && len(u.Roster.Processes) == 3 && !slices.ContainsFunc(u.Roster.Processes,
				func(p roster.Process) bool { return !p.Voter })
		})
	}
	elect("scheduler-2/1/1", processes[2], processes[:2])
	// At first the status may tell what one process alone has reported, and so does the event then.
	sees(t, namespace, "scheduler-2 as coordinator, as all tell it", func(g *v1.ElectionGroup) bool {
		return coordinatedBy("scheduler-2", metav1.ConditionTrue)(g) &&
			electionsOf(g) == ">scheduler-2 CoordinatorUnreachable" &&
			ptr.Deref(g.Status.Elections[0].Messages, 0) == 6
	})
	labelled(t, namespace, "scheduler-2")
	eventBegins(t, namespace, "CoordinatorElected: scheduler-2 (priority 3) is the coordinator")
	return namespace, processes
}

// patiently gathers news for so long that it is all there, also on a busy machine.
func patiently(o *controllers.Options) { o.Debounce = time.Second / 2 }

func TestGroupFromApplyToCoordinator(t *testing.T) {
	m := startManager(t, "")
	namespace, _ := three(t, m)
	group := &v1.ElectionGroup{}
	must(t, kube.Get(bg, types.NamespacedName{Namespace: namespace, Name: "scheduler"}, group))
	if got, want := table(group), "scheduler-0:Normal scheduler-1:Normal scheduler-2:Coordinator"; got != want {
		t.Errorf("table %q, want %q", got, want)
	}
	if all := group.Status.Elections; len(all) != 1 || all[0].Messages == nil || *all[0].Messages != 6 ||
		*all[0].DurationMilliseconds != 3 || all[0].Initiator != "scheduler-0" || all[0].Reason != "CoordinatorUnreachable" ||
		all[0].Algorithm != group.Spec.Algorithm || all[0].To != "scheduler-2" || all[0].From != "" || all[0].At.IsZero() {
		t.Errorf("last elections %+v", all)
	}
	for i, member := range group.Status.Roster.Members {
		if member.Name != fmt.Sprintf("scheduler-%d", i) || !*member.Voter || member.StateID == "" {
			t.Errorf("member %d is %+v, want a voter of known incarnation, in the order of ordinals", i, member)
		}
	}
	for kind, want := range map[string]metav1.ConditionStatus{v1.ConditionReady: "True",
		v1.ConditionCoordinatorElected: "True",
		v1.ConditionDegraded:           "False", v1.ConditionReconciling: "False", v1.ConditionStalled: "False"} {
		if got := conditionOf(group, kind); got != want {
			t.Errorf("condition %s is %q, want %s", kind, got, want)
		}
	}
}

func TestRosterIsPersistedBeforeItIsHandedOut(t *testing.T) {
	m := startManager(t, "")
	namespace := newNamespace(t)
	group := newGroup(t, namespace)
	var mu sync.Mutex
	var early []string
	check := func(u roster.Update) {
		if u.Roster == nil {
			return
		}
		now := &v1.ElectionGroup{}
		err := kube.Get(bg, client.ObjectKeyFromObject(group), now)
		mu.Lock()
		defer mu.Unlock()
		if err != nil || now.Status.Roster == nil || now.Status.Roster.Generation < u.Roster.Generation {
			early = append(early, fmt.Sprintf("told of generation %d while the API server had %+v (%v)", u.Roster.Generation,
				now.Status.Roster, err))
		}
	}
	var all []*process
	for i := range 5 {
		all = append(all, join(t, m, newPod(t, namespace, i), check))
	}
	for _, p := range all {
		p.Hears(t, "a roster of five", func(u roster.Update) bool { return u.Roster != nil && len(u.Roster.Processes) == 5 })
	}
	mu.Lock()
	defer mu.Unlock()
	for _, e := range early {
		t.Error(e)
	}
}

// The coordinator is killed: its connection closes, and its peers report who coordinates now. One
// write of the status says it all, the label moves off the old pod first, events come after the
// write.
func TestFailoverIsOneStatusWrite(t *testing.T) {
	m := startManager(t, "", patiently)
	namespace, p := three(t, m)
	m.writes.reset()
	p[2].Stop()
	elect("scheduler-1/1/1", p[1], p[:1], p[2])
	seen := sees(t, namespace, "scheduler-1 as coordinator", coordinatedBy("scheduler-1", metav1.ConditionTrue))
	labelled(t, namespace, "scheduler-1")
	last := seen[len(seen)-1]
	if got, want := table(last), "scheduler-0:Normal scheduler-1:Coordinator scheduler-2:Crashed"; got != want {
		t.Errorf("table %q, want %q", got, want)
	}
	if conditionOf(last, v1.ConditionDegraded) != metav1.ConditionTrue {
		t.Error("a process is crashed, but Degraded is not True")
	}
	eventsIn(t, namespace, "ProcessCrashed: scheduler-2 has crashed",
		"CoordinatorLost: scheduler-2 is no longer the coordinator: its state is Crashed",
		"CoordinatorElected: scheduler-1 (priority 2) is the coordinator: elected in 3 ms with 4 messages, started by scheduler-0 (CoordinatorUnreachable)")
	chatter(t, p[:2]...)
	var status, pods, events []string
	all := m.writes.in(namespace)
	for _, w := range all {
		switch {
		case strings.Contains(w, "electiongroups"):
			status = append(status, w)
		case strings.Contains(w, "pods"):
			pods = append(pods, w)
		case strings.Contains(w, "events"):
			events = append(events, w)
		}
	}
	if len(status) != 1 || !strings.HasPrefix(all[0], "PATCH electiongroups/scheduler/status podesta-status") {
		t.Errorf("want one write of the status, before all others; all writes:\n%s", strings.Join(all, "\n"))
	}
	if want := []string{"PATCH pods/scheduler-2 podesta-role",
		"PATCH pods/scheduler-1 podesta-role"}; !slices.Equal(pods, want) {
		t.Errorf("writes to pods %q, want %q", pods, want)
	}
	if len(events) != 3 {
		t.Errorf("writes of events: %q, want 3", events)
	}
}

// A group in which nothing happens costs the API server nothing, however often agents say the same
// again.
func TestQuietGroupWritesNothing(t *testing.T) {
	m := startManager(t, "")
	namespace, p := three(t, m)
	m.writes.reset()
	for range 4 {
		chatter(t, p...)
	}
	if w := m.writes.in(namespace); len(w) != 0 {
		t.Errorf("a quiet group caused writes:\n%s", strings.Join(w, "\n"))
	}
	shown(t, namespace, p[2])
	onlyShown(t, m, namespace)
}

// The manager is away while the coordinator dies. What the next one shows first is either the old
// view or the right one.
func TestManagerRestart(t *testing.T) {
	m := startManager(t, "")
	namespace, p := three(t, m)
	before := &v1.ElectionGroup{}
	must(t, kube.Get(bg, types.NamespacedName{Namespace: namespace, Name: "scheduler"}, before))
	m.Stop()
	p[2].Stop()
	elect("scheduler-1/1/1", p[1], p[:1], p[2])

	successor := startManager(t, m.Address, patiently)
	hurry(p[:2])
	seen := sees(t, namespace, "scheduler-1 as coordinator", coordinatedBy("scheduler-1", metav1.ConditionTrue))
	for _, g := range seen {
		old := g.Status.Coordinator != nil && g.Status.Coordinator.Name == "scheduler-2" && table(g) == table(before)
		right := g.Status.Coordinator != nil && g.Status.Coordinator.Name == "scheduler-1" && table(g) == "scheduler-0:Normal scheduler-1:Coordinator scheduler-2:Crashed"
		if !old && !right {
			t.Errorf("on the way status showed coordinator %+v, table %s", g.Status.Coordinator, table(g))
		}
	}
	last := seen[len(seen)-1]
	if last.Status.Roster.Generation != before.Status.Roster.Generation {
		t.Errorf("the restart moved the roster from generation %d to %d", before.Status.Roster.Generation,
			last.Status.Roster.Generation)
	}
	labelled(t, namespace, "scheduler-1")
	chatter(t, p[:2]...)
	if n := strings.Count(strings.Join(successor.writes.in(namespace), "\n"), "electiongroups"); n != 1 {
		t.Errorf("the new manager wrote the status %d times, want once:\n%s", n,
			strings.Join(successor.writes.in(namespace), "\n"))
	}
}

// hurry has agents come back to a manager that has just begun: one that found nobody before waits
// for up to 15 s, and the manager does not wait so long to say what it sees.
func hurry(all []*process) {
	for _, p := range all {
		p.Client.Hurry()
	}
}

// restartsQuietly has another manager follow: it hands out the same roster, and writes nothing but
// what happens then. The last process coordinates.
func restartsQuietly(t *testing.T, m *manager, namespace string, p []*process) {
	t.Helper()
	m.Stop()
	before := groupIn(t, namespace)
	var heard []int
	for _, q := range p {
		heard = append(heard, q.Heard())
	}
	successor := startManager(t, m.Address)
	hurry(p)
	for i, q := range p {
		q.HearsAfter(t, heard[i], "the roster again", rosterOf(before))
	}
	chatter(t, p...)
	if after := groupIn(t, namespace); after.ResourceVersion != before.ResourceVersion {
		t.Errorf("the restart changed the group; writes:\n%s\nbefore %+v\nafter %+v",
			strings.Join(successor.writes.in(namespace), "\n"), before.Status, after.Status)
	}
	shown(t, namespace, p[len(p)-1])
	onlyShown(t, successor, namespace)
}

func TestTrustIsKept(t *testing.T) {
	startManager(t, "")
	namespace := newNamespace(t)
	newGroup(t, namespace)
	bundle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1.TrustConfigMap}}
	is := func() *corev1.ConfigMap {
		t.Helper()
		now := &corev1.ConfigMap{}
		eventually(t, "the bundle in the ConfigMap", func() bool {
			*now = corev1.ConfigMap{}
			must(t, client.IgnoreNotFound(kube.Get(bg, client.ObjectKeyFromObject(bundle), now)))
			want := string(authority(t))
			return want != "" && now.Data[v1.TrustKey] == want
		})
		return now
	}
	first := is()
	must(t, kube.Patch(bg, bundle, client.RawPatch(types.MergePatchType, []byte(`{"data":{"ca.crt":"forged"}}`))))
	if mended := is(); mended.UID != first.UID || mended.ResourceVersion == first.ResourceVersion {
		t.Errorf("the forged ConfigMap was not mended in place: %+v", mended.ObjectMeta)
	}
	must(t, kube.Delete(bg, bundle))
	if is().UID == first.UID {
		t.Error("the ConfigMap is the one that was deleted")
	}
	for _, damage := range []string{
		`{"data":{"ca.crt":"forged"},"immutable":true}`,
		`{"immutable":true}`, // it says the right thing, and can say nothing else
		`{"data":null,"binaryData":{"ca.crt":"Zm9yZ2Vk"}}`,
		`{"data":null,"binaryData":{"ca.crt":"Zm9yZ2Vk"},"immutable":true}`,
		`{"binaryData":{"other.crt":"Zm9yZ2Vk"}}`,
	} {
		must(t, kube.Patch(bg, bundle, client.RawPatch(types.MergePatchType, []byte(damage))))
		eventually(t, "the ConfigMap to be mended: "+damage, func() bool {
			now := is()
			return now.ResourceVersion != bundle.ResourceVersion && now.Immutable == nil && len(now.BinaryData) == 0
		})
	}
}

// TestTrustThatCannotBeRestored: a finalizer keeps what cannot be changed. Its groups say so, until
// somebody has taken that away.
func TestTrustThatCannotBeRestored(t *testing.T) {
	startManager(t, "")
	namespace := newNamespace(t)
	newGroup(t, namespace)
	bundle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1.TrustConfigMap}}
	eventually(t, "the ConfigMap", func() bool { return kube.Get(bg, client.ObjectKeyFromObject(bundle), bundle) == nil })
	good := bundle.Data[v1.TrustKey]
	must(t, kube.Patch(bg, bundle, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":["example.com/keep"]},"data":{"ca.crt":"forged"},"immutable":true}`))))
	says := func(reason string) func(*v1.ElectionGroup) bool {
		return func(g *v1.ElectionGroup) bool {
			c := meta.FindStatusCondition(g.Status.Conditions, v1.ConditionDegraded)
			return c != nil && c.Reason == reason
		}
	}
	sees(t, namespace, "what is wrong", says("TrustNotRestored"))
	what := meta.FindStatusCondition(groupIn(t, namespace).Status.Conditions, v1.ConditionDegraded).Message
	if !strings.Contains(what, "kubectl patch configmap podesta-trust -n "+namespace) {
		t.Errorf("it says %q", what)
	}
	eventsIn(t, namespace, "TrustNotRestored: "+what)
	must(t, kube.Patch(bg, bundle, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	sees(t, namespace, "that nothing is wrong", says("NoProcesses"))
	must(t, kube.Get(bg, client.ObjectKeyFromObject(bundle), bundle))
	if bundle.Data[v1.TrustKey] != good {
		t.Errorf("the ConfigMap says %q", bundle.Data[v1.TrustKey])
	}
}

// authority is the CA's certificate, by its Secret; empty while there is none.
func authority(t *testing.T) []byte {
	t.Helper()
	secret := &corev1.Secret{}
	must(t, client.IgnoreNotFound(kube.Get(bg, types.NamespacedName{Namespace: system, Name: "podesta-ca"}, secret)))
	return secret.Data["tls.crt"]
}

func TestLeaderLabelMoves(t *testing.T) {
	namespace := newNamespace(t)
	first, second := newPod(t, namespace, 0), newPod(t, namespace, 1)
	for _, leader := range []*corev1.Pod{first, second, second} {
		must(t, agentserver.MarkLeader(bg, kube, kube, namespace, leader.Name))
		marked := &corev1.PodList{}
		must(t, kube.List(bg, marked, client.InNamespace(namespace), client.MatchingLabels{v1.LeaderLabel: "true"}))
		if len(marked.Items) != 1 || marked.Items[0].Name != leader.Name {
			t.Errorf("%d pods carry the label, want %s only", len(marked.Items), leader.Name)
		}
	}
}

// A coordinator's pod that is taken out of the group (its label removed, to look at it in peace)
// takes no traffic with it.
func TestPodThatLeavesTheGroupLosesTheRole(t *testing.T) {
	m := startManager(t, "")
	namespace, _ := three(t, m)
	labelled(t, namespace, "scheduler-2")
	pod := &corev1.Pod{}
	key := types.NamespacedName{Namespace: namespace, Name: "scheduler-2"}
	must(t, kube.Get(bg, key, pod))
	as := client.MergeFrom(pod.DeepCopy()) // an Update could meet a conflict: the manager writes the role
	delete(pod.Labels, v1.GroupLabel)
	must(t, kube.Patch(bg, pod, as))
	eventually(t, "the role label gone", func() bool {
		must(t, kube.Get(bg, key, pod))
		return pod.Labels[v1.RoleLabel] == ""
	})
}
