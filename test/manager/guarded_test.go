package manager

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// guarded makes a group Guarded, with so short a lease that nobody has to wait for long.
func guarded(g *v1.ElectionGroup) {
	g.Spec.Safety = v1.Guarded
	g.Spec.Timing = v1.Timing{Profile: v1.Fast, HeartbeatMilliseconds: 50, LeaseMaximumMilliseconds: 200}
}

// onNode has a pod run on a node, so that it is not deleted before a kubelet has said that it may.
func onNode(pod *corev1.Pod) { pod.Spec.NodeName = "node-1" }

// voting is a Guarded group of so many voters, which all have heard that they are.
func voting(t *testing.T, m *manager, n int) (namespace string, processes []*process) {
	t.Helper()
	namespace = newNamespace(t)
	newGroup(t, namespace, guarded)
	for i := range n {
		processes = append(processes, join(t, m, newPod(t, namespace, i, onNode), nil))
	}
	seen := sees(t, namespace, "all as voters", votersAre(processes...))
	for _, p := range processes { // or the manager may be stopped before anybody has heard of it
		p.Hears(t, "the roster on which all vote", rosterOf(seen[len(seen)-1]))
	}
	return namespace, processes
}

// hold has the first process report that it may act under the epoch, and the others that they
// follow it.
func hold(epoch int64, coordinator *process, followers ...*process) {
	for _, p := range append([]*process{coordinator}, followers...) {
		p.Change(func() {
			p.Report.Electing, p.Report.Coordinator, p.Report.Epoch = false, coordinator.Pod.Name, epoch
			p.Report.LeaseState = roster.LeaseFollowing
			if p == coordinator {
				p.Report.LeaseState = roster.LeaseHolding
			}
		})
	}
}

// votersAre: these processes' pods vote, and nobody else.
func votersAre(processes ...*process) func(*v1.ElectionGroup) bool {
	want := map[types.UID]bool{}
	for _, p := range processes {
		want[p.Pod.UID] = true
	}
	return func(g *v1.ElectionGroup) bool {
		voters := voters(g)
		return len(voters) == len(want) && !slices.ContainsFunc(voters, func(m v1.RosterMember) bool { return !want[m.UID] })
	}
}

func voters(g *v1.ElectionGroup) (some []v1.RosterMember) {
	if g.Status.Roster == nil {
		return nil
	}
	for _, m := range g.Status.Roster.Members {
		if m.Voter != nil && *m.Voter {
			some = append(some, m)
		}
	}
	return some
}

func coordinatedUnder(name string, epoch int64) func(*v1.ElectionGroup) bool {
	return func(g *v1.ElectionGroup) bool {
		return g.Status.Coordinator != nil && g.Status.Coordinator.Name == name && g.Status.Coordinator.Epoch == epoch &&
			conditionOf(g, v1.ConditionCoordinatorElected) == metav1.ConditionTrue
	}
}

func stalledBy(reason string) func(*v1.ElectionGroup) bool {
	return func(g *v1.ElectionGroup) bool {
		return slices.ContainsFunc(g.Status.Conditions, func(c metav1.Condition) bool {
			return c.Type == v1.ConditionStalled && c.Status == metav1.ConditionTrue && c.Reason == reason
		})
	}
}

// finish ends a pod as a kubelet does: its agent says that it leaves, its containers end, it is
// gone.
func (p *process) finish(t *testing.T) {
	t.Helper()
	must(t, kube.Delete(bg, p.Pod, client.GracePeriodSeconds(30)))
	p.Change(func() { p.Report.Leaving, p.Report.Left = true, true })
	p.terminated(t, corev1.PodSucceeded)
	p.Stop()
	must(t, kube.Delete(bg, p.Pod, client.GracePeriodSeconds(0)))
}

// terminated has the kubelet report that the pod's containers have ended.
func (p *process) terminated(t *testing.T, phase corev1.PodPhase) {
	t.Helper()
	pod := &corev1.Pod{}
	must(t, kube.Get(bg, client.ObjectKeyFromObject(p.Pod), pod))
	pod.Status.Phase = phase
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionFalse,
		Reason: map[corev1.PodPhase]string{corev1.PodFailed: "PodFailed", corev1.PodSucceeded: "PodCompleted"}[phase]}}
	over := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: v1.AgentContainer, Image: "agent", ImageID: "agent", State: over}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", Image: "app", ImageID: "app", State: over}}
	must(t, kube.Status().Update(bg, pod))
}

// vanish: the pod is deleted by force, and nothing tells whether it runs on.
func (p *process) vanish(t *testing.T) {
	t.Helper()
	p.Stop()
	must(t, kube.Delete(bg, p.Pod, client.GracePeriodSeconds(0)))
}

func groupIn(t *testing.T, namespace string) *v1.ElectionGroup {
	t.Helper()
	group := &v1.ElectionGroup{}
	must(t, kube.Get(bg, types.NamespacedName{Namespace: namespace, Name: "scheduler"}, group))
	return group
}

// wipe returns the group's resource version without its status.
func wipe(t *testing.T, group *v1.ElectionGroup) string {
	t.Helper()
	wiped := group.DeepCopy()
	must(t, kube.Status().Patch(bg, wiped, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/status","value":{}}]`))))
	return wiped.ResourceVersion
}

// Nobody remembers: the status was wiped while no manager ran. The next one makes no roster of its
// own: it adopts the one that the agents show (MC10).
func TestWipedStatusAfterARestart(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 3)
	before := groupIn(t, namespace)
	for _, q := range p { // a roster that nobody has used before the manager stops leaves no trace
		q.Awaits(t, "the roster of the voters", func() bool {
			return q.Report.Generation == before.Status.Roster.Generation
		})
	}
	m.Stop()
	since := watchGroup(t, namespace, wipe(t, groupIn(t, namespace)))
	startManager(t, m.Address)
	for _, g := range seesIn(t, since, "voters again", votersAre(p...)) {
		if r := g.Status.Roster; r != nil && (r.Generation <= before.Status.Roster.Generation || !votersAre(p...)(g)) {
			t.Errorf("generation %d after %d: %+v", r.Generation, before.Status.Roster.Generation, r.Members)
		}
	}
	if g := groupIn(t, namespace); g.Status.SetBack != nil {
		t.Errorf("the status says %+v", g.Status.SetBack)
	}
}

// restore puts an older roster into the status, as a backup of etcd does. (The API refuses that in
// one step.)
func restore(t *testing.T, namespace string, older *v1.RosterStatus) string {
	t.Helper()
	group := groupIn(t, namespace)
	wipe(t, group)
	group = groupIn(t, namespace)
	group.Status.Roster = older
	must(t, kube.Status().Update(bg, group))
	return group.ResourceVersion
}

// outdate restores a backup of when only the first process voted, while no manager runs.
func outdate(t *testing.T) (m *manager, namespace string, p []*process) {
	t.Helper()
	m = startManager(t, "")
	namespace, p = voting(t, m, 1)
	backup := groupIn(t, namespace).Status.Roster
	for i := 1; i < 3; i++ {
		p = append(p, join(t, m, newPod(t, namespace, i, onNode), nil))
	}
	sees(t, namespace, "three voters", votersAre(p...))
	newest := groupIn(t, namespace).Status.Roster.Generation
	for _, q := range p {
		q.Awaits(t, "the roster of three voters", func() bool { return q.Report.Generation >= newest })
	}
	m.Stop()
	restore(t, namespace, backup)
	return m, namespace, p
}

// No majority of the newest roster's voters reports. The manager changes nothing, and says so,
// until an operator decides.
func TestRestoredStatusWithoutAMajority(t *testing.T) {
	run := plugin(t)
	m, namespace, p := outdate(t)
	p[0].Stop()
	p[1].Stop()
	restored := groupIn(t, namespace)
	startManager(t, m.Address)
	seen := sees(t, namespace, "that it stands still, and that an agent has shown its roster", func(g *v1.ElectionGroup) bool {
		return stalledBy("StatusSetBack")(g) && g.Status.SetBack.Held == g.Status.SetBack.Newest
	})
	if is, was := seen[len(seen)-1].Status.Roster.Generation, restored.Status.Roster.Generation; is != was {
		t.Errorf("generation %d after %d", is, was)
	}
	if said, err := run("no\n", "adopt", "scheduler", "-n", namespace); err == nil || !strings.Contains(said, "nothing was changed") {
		t.Errorf("without the group's name: %v\n%s", err, said)
	}
	said, err := run("scheduler\n", "adopt", "scheduler", "-n", namespace)
	if err != nil || !strings.Contains(said, "is no longer set back") {
		t.Fatalf("%v\n%s", err, said)
	}
	if g := groupIn(t, namespace); !votersAre(p...)(g) || g.Status.SetBack != nil {
		t.Errorf("the roster that was adopted: %+v, set back %+v", g.Status.Roster, g.Status.SetBack)
	}
	if said, err := run("", "adopt", "scheduler", "-n", namespace, "--yes"); err == nil || !strings.Contains(said, "was not set back") {
		t.Errorf("when all is well: %v\n%s", err, said)
	}
}

// A restart of the manager shows nothing else on the way, writes nothing, and makes no step.
func TestRestartOfAQuietGuardedGroup(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 3)
	hold(77, p[2], p[0], p[1])
	settled := func(g *v1.ElectionGroup) bool {
		return coordinatedUnder("scheduler-2", 77)(g) && conditionOf(g, v1.ConditionReconciling) == metav1.ConditionFalse
	}
	sees(t, namespace, "all settled", settled)
	labelled(t, namespace, "scheduler-2")
	restartsQuietly(t, m, namespace, p)
}
