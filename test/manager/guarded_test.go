package manager

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// guarded makes a group Guarded, with so short a lease that nobody has to wait for long.
func guarded(g *v1.ElectionGroup) {
	g.Spec.Safety = v1.Guarded
	g.Spec.Timing = v1.Timing{HeartbeatMilliseconds: 50, LeaseMilliseconds: 200}
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

// steps are all rosters that a group has had since it was watched.
type steps struct {
	namespace string

	mu      sync.Mutex
	rosters []*v1.RosterStatus
}

func watchSteps(t *testing.T, namespace string) *steps {
	t.Helper()
	s := &steps{namespace: namespace}
	now := &v1.ElectionGroupList{}
	changes := server.Watch(t, now, client.InNamespace(namespace))
	for i := range now.Items {
		s.take(&now.Items[i])
	}
	go func() {
		for e := range changes.ResultChan() {
			s.take(e.Object)
		}
	}()
	return s
}

func (s *steps) take(object runtime.Object) {
	if g, ok := object.(*v1.ElectionGroup); ok && g.Status.Roster != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.rosters = append(s.rosters, g.Status.Roster)
	}
}

// all returns the rosters up to that of now: they come by a watch, a moment later than the test
// reads them.
func (s *steps) all(t *testing.T) []*v1.RosterStatus {
	t.Helper()
	now := groupIn(t, s.namespace).Status.Roster.Generation
	var all []*v1.RosterStatus
	eventually(t, "all rosters", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		all = slices.Clone(s.rosters)
		return len(all) > 0 && all[len(all)-1].Generation >= now
	})
	return all
}

// areSmall checks that generations only grow and that voters came one at a time, and went one at a
// time or had ended.
func (s *steps) areSmall(t *testing.T, ended ...*process) {
	t.Helper()
	rosters := s.all(t)
	if first, last := rosters[0].Generation, rosters[len(rosters)-1].Generation; first == last {
		t.Errorf("there was no step: the generation is %d still", first)
	}
	gone := map[types.UID]bool{}
	for _, p := range ended {
		gone[p.Pod.UID] = true
	}
	for i, is := range rosters[1:] {
		was := rosters[i]
		before, now := lives(was), lives(is)
		came := missingFrom(now, before)
		went := missingFrom(before, now)
		proven := !slices.ContainsFunc(went, func(life string) bool { uid, _, _ := strings.Cut(life, "/"); return !gone[types.UID(uid)] })
		if is.Generation < was.Generation || len(before) > 0 && len(came)+len(went) > 1 && (len(came) > 0 || !proven) {
			t.Errorf("from generation %d to %d: %d voters came and %d went at once", was.Generation, is.Generation, len(came), len(went))
		}
	}
}

func lives(r *v1.RosterStatus) (all []string) {
	for _, m := range voters(&v1.ElectionGroup{Status: v1.ElectionGroupStatus{Roster: r}}) {
		all = append(all, string(m.UID)+"/"+m.StateID)
	}
	return all
}

func missingFrom(some, others []string) (missing []string) {
	for _, s := range some {
		if !slices.Contains(others, s) {
			missing = append(missing, s)
		}
	}
	return missing
}

// finish ends a pod as a kubelet does: its agent says that it leaves, its containers end, it is
// gone.
func (p *process) finish(t *testing.T) {
	t.Helper()
	must(t, kube.Delete(bg, p.Pod, client.GracePeriodSeconds(30)))
	p.Change(func() { p.Report.Leaving = true })
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

func TestGuardedGroupFromApplyToCoordinator(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 3)
	hold(77, p[2], p[0], p[1])
	sees(t, namespace, "scheduler-2 under epoch 77", coordinatedUnder("scheduler-2", 77))
	labelled(t, namespace, "scheduler-2")
	eventsIn(t, namespace, "CoordinatorElected: scheduler-2 (priority 3) is the coordinator under epoch 0.77")

	hold(78, p[1], p[0], p[2]) // a hand-over
	sees(t, namespace, "scheduler-1 under epoch 78", coordinatedUnder("scheduler-1", 78))
	labelled(t, namespace, "scheduler-1")
	group := groupIn(t, namespace)
	if got, want := *group.Status.ToleratedFailures, int32(1); got != want {
		t.Errorf("tolerates %d failures, want %d", got, want)
	}
	if n := len(group.Status.Processes); n != 3 {
		t.Errorf("the table has %d rows", n)
	}
	for _, row := range group.Status.Processes {
		if row.Epoch != 78 {
			t.Errorf("%s follows under epoch %d", row.Name, row.Epoch)
		}
	}
}

// Those that say that they coordinate are shown when a majority of the voters follows, whatever
// else is said.
func TestMinorityIsNotShown(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 3)
	hold(77, p[2])
	sees(t, namespace, "scheduler-2's own view in the table", func(g *v1.ElectionGroup) bool {
		if g.Status.Coordinator != nil {
			t.Errorf("shown as the coordinator: %+v", g.Status.Coordinator)
		}
		return slices.ContainsFunc(g.Status.Processes, func(row v1.ProcessStatus) bool { return row.Epoch == 77 })
	})
	hold(77, p[2], p[0])
	sees(t, namespace, "scheduler-2 under epoch 77", coordinatedUnder("scheduler-2", 77))
}

func TestScaleUpAndDown(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 3)
	steps := watchSteps(t, namespace)
	hold(77, p[2], p[0], p[1])
	for i := 3; i < 7; i++ {
		p = append(p, join(t, m, newPod(t, namespace, i, onNode), nil))
	}
	sees(t, namespace, "seven voters", votersAre(p...))
	for _, q := range p[3:] {
		q.finish(t)
	}
	sees(t, namespace, "three voters", votersAre(p[:3]...))
	steps.areSmall(t, p[3:]...)
}

// Pods are replaced one after another, each by a new one of the same name.
func TestRollingReplacement(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 3)
	steps := watchSteps(t, namespace)
	var old []*process
	for i := 2; i >= 0; i-- {
		old = append(old, p[i])
		p[i].finish(t)
		p[i] = join(t, m, newPod(t, namespace, i, onNode), nil)
		sees(t, namespace, fmt.Sprintf("the new scheduler-%d as a voter", i), votersAre(p...))
	}
	steps.areSmall(t, old...)
	hold(80, p[2], p[0], p[1])
	sees(t, namespace, "scheduler-2 under epoch 80", coordinatedUnder("scheduler-2", 80))
}

func TestMinorityLostForGood(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 5)
	steps := watchSteps(t, namespace)
	p[1].vanish(t)
	p[3].vanish(t)
	sees(t, namespace, "three voters", votersAre(p[0], p[2], p[4]))
	steps.areSmall(t)
}

// Six evicted pods are not six voters: they do not count as soon as they have ended.
func TestEvictedAndCompletedPods(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 5)
	for i, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded, corev1.PodFailed} { // a majority, in one moment
		p[i].Stop()
		p[i].terminated(t, phase)
	}
	sees(t, namespace, "two voters", votersAre(p[3:]...))
	if n := len(groupIn(t, namespace).Status.Roster.Members); n != 2 {
		t.Errorf("%d members", n)
	}
}

func TestStuckInTerminating(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 3)
	p[0].Stop()
	must(t, kube.Delete(bg, p[0].Pod, client.GracePeriodSeconds(1)))
	sees(t, namespace, "two voters", votersAre(p[1:]...))
	pod := &corev1.Pod{}
	must(t, kube.Get(bg, client.ObjectKeyFromObject(p[0].Pod), pod)) // it hangs still
	if time.Now().Before(pod.DeletionTimestamp.Time) {
		t.Error("it was removed within its grace period")
	}
}

// The status is wiped while the group is at work: the manager knows who the voters are.
func TestWipedStatus(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 3)
	before := groupIn(t, namespace)
	steps := watchSteps(t, namespace)
	wiped := wipe(t, before)
	seen := seesIn(t, watchGroup(t, namespace, wiped), "a roster again", func(g *v1.ElectionGroup) bool {
		return g.Status.Roster != nil && g.Status.Roster.Generation > before.Status.Roster.Generation
	})
	if last := seen[len(seen)-1]; !votersAre(p...)(last) {
		t.Errorf("the first roster after it: %+v", last.Status.Roster)
	}
	steps.areSmall(t)
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

// A backup is restored while no manager runs. Its voters are not those that act: p-1 and p-2 are a
// majority without p-0.
func TestRestoredStatus(t *testing.T) {
	m, namespace, p := outdate(t)
	restored := groupIn(t, namespace)
	since := watchGroup(t, namespace, restored.ResourceVersion)
	startManager(t, m.Address)
	for _, g := range seesIn(t, since, "three voters again", votersAre(p...)) {
		if r := g.Status.Roster; r.Generation > restored.Status.Roster.Generation && !votersAre(p...)(g) {
			t.Errorf("generation %d after %d: %+v", r.Generation, restored.Status.Roster.Generation, r.Members)
		}
	}
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

func TestGuardedGroupMadeAgain(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 3)
	hold(77, p[2], p[0], p[1])
	sees(t, namespace, "scheduler-2 under epoch 77", coordinatedUnder("scheduler-2", 77))
	before := groupIn(t, namespace)
	heard := []int{p[0].Heard(), p[1].Heard(), p[2].Heard()}
	must(t, kube.Delete(bg, before.DeepCopy()))
	for i, q := range p {
		q.HearsAfter(t, heard[i], "that the group is gone", func(u roster.Update) bool { return u.Gone })
	}
	newGroup(t, namespace, guarded)
	sees(t, namespace, "voters again", func(g *v1.ElectionGroup) bool { return g.UID != before.UID && votersAre(p...)(g) })
	if is := groupIn(t, namespace).Status.Roster.Generation; is <= before.Status.Roster.Generation {
		t.Errorf("generation %d after %d", is, before.Status.Roster.Generation)
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
