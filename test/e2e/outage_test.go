package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/stage"
)

// away is how long the API server stands still.
const away = time.Minute

// The API server stands still for a minute, with edits and failures on their way. Elections go on,
// and when it is back it is told everything, and nobody loses anything by that. This cluster's
// manager holds a lease, as in an installation: it loses it.
func TestAPIServerAway(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	cluster, err := stage.Up(t.Context(), root, state, os.Stderr, "--manager-arg=--leader-elect=true")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	g, classic := newGroupOn(t, state, "away"), newGroupOn(t, state, "away-classic")
	before := g.settled().Status.Coordinator.Epoch
	classic.unhurried("podesta_v1_electiongroup_classic.yaml")
	classic.agree("scheduler-4")
	classic.await("every process to use the roster", reconciled)
	classic.shows("scheduler-4")
	said, saidClassic := g.chronicle(), classic.chronicle()
	manager := pidOf(t, state, "manager")

	server := pidOf(t, state, "kube-apiserver")
	said.kill("scheduler-0")
	saidClassic.kill("scheduler-0")
	edit := func(s *v1.ElectionGroupSpec) { s.Processes[0].Priority = ptr.To[int32](15) }
	classic.edit(edit)
	g.edit(edit)
	resume := stands(t, server)
	begun := time.Now()
	g.silent()

	restart := stands(t, cluster.PID) // or scheduler-4 may be back before its lease has run out
	killed := said.kill("scheduler-4")
	agreed := said.agree("scheduler-3", "scheduler-4", "scheduler-0")
	t.Logf("Guarded: agreed %v after the kill, epoch %d after %d", g.took(killed, agreed.at), agreed.epoch, before)
	if said.acts("scheduler-3"); agreed.epoch <= before {
		t.Errorf("scheduler-3 may act under epoch %d after %d", agreed.epoch, before)
	}
	killed = saidClassic.kill("scheduler-4")
	t.Logf("Classic: agreed %v after the kill", g.took(killed, saidClassic.agree("scheduler-3", "scheduler-4", "scheduler-0").at))
	said.kill("scheduler-1")
	saidClassic.kill("scheduler-1")
	restart()
	said.agree("scheduler-3")        // all of them are back, without manager and API server
	saidClassic.agree("scheduler-4") // the highest takes over when it is back, as in the books
	pass(t, begun.Add(away/2))
	waiting := pidOf(t, state, "manager")
	pass(t, begun.Add(away))
	if now := pidOf(t, state, "manager"); now == 0 || now != waiting || now == manager {
		t.Errorf("manager %d, then %d, then %d: want one that ends when it has lost its lease, and the next one to wait", manager, waiting, now)
	}
	if e := said.agree("scheduler-3").epoch; e < agreed.epoch {
		t.Errorf("epoch %d after %d", e, agreed.epoch)
	}
	saidClassic.agree("scheduler-4")

	back := time.Now()
	resume()
	eg := g.holds("scheduler-3", before)
	t.Logf("the status shows scheduler-3 %v after the API server is back, by manager %d after %d", time.Since(back), pidOf(t, state, "manager"), manager)
	g.shows("scheduler-3")
	g.told(back, "CoordinatorElected", "scheduler-3 ")
	g.await("every process to use the edited roster", reconciled)
	classic.await("every process to use the edited roster", reconciled)
	classic.shows("scheduler-4")
	t.Logf("status, label and event tell it %v after the API server is back", time.Since(back))
	if eg.Status.Coordinator.Epoch < agreed.epoch {
		t.Errorf("the status shows epoch %d, the agents said %d", eg.Status.Coordinator.Epoch, agreed.epoch)
	}
	said.undisturbed(back, "scheduler-3")
	saidClassic.agree("scheduler-4")
	classic.failsOver(cluster.PID) // its status said scheduler-4 all the time
}

// settled applies the sample and waits until scheduler-4 coordinates under an epoch of the roster
// that all use, so that its epoch does not change any more; whoever coordinates now stays until it
// fails.
func (g *group) settled() *v1.ElectionGroup {
	g.t.Helper()
	g.unhurried("podesta_v1_electiongroup.yaml")
	g.agree("scheduler-4")
	g.edit(never)
	g.await("every process to use the roster", reconciled)
	g.holdsByRoster("scheduler-4")
	g.agree("scheduler-4")
	return g.shows("scheduler-4")
}

// unhurried applies a sample and its pods, and calms it.
func (g *group) unhurried(sample string) {
	g.t.Helper()
	apply := func(file string) { g.must(g.ApplyFile(g.t.Context(), filepath.Join(root, "config/samples", file))) }
	apply(sample)
	g.edit(calm)
	apply("pods.yaml")
	g.running(5)
}

// never keeps a coordinator until it fails.
func never(s *v1.ElectionGroupSpec) { s.Preemption = &v1.Preemption{Policy: v1.Never} }

// told waits for an event on the group that was recorded after an instant, and whose note contains
// a text.
func (g *group) told(after time.Time, reason, text string) {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	g.must(g.Until(ctx, fmt.Sprintf("an event %s after %v that says %q", reason, after, text), &eventsv1.EventList{}, func(object runtime.Object) bool {
		e, ok := object.(*eventsv1.Event)
		return ok && e.Reason == reason && e.EventTime.After(after) && strings.Contains(e.Note, text)
	}, client.InNamespace(g.Namespace)))
}

// TestAround has the cluster's other failures one after another, beside TestAPIServerAway, which
// has a cluster of its own.
func TestAround(t *testing.T) {
	t.Parallel()
	t.Run("EtcdKilled", etcdKilled)
	t.Run("AllManagersKilled", allManagersKilled)
	t.Run("CRDDeleted", crdDeleted)
}

// etcd is killed, and stays away until the group has another coordinator. Nothing that was written
// is lost.
func etcdKilled(t *testing.T) {
	g := newGroup(t, "etcd-killed")
	before := g.settled().Status.Coordinator.Epoch
	said := g.chronicle()
	g.edit(func(s *v1.ElectionGroupSpec) { s.Processes[0].Priority = ptr.To[int32](15) })
	manager := managerPID(t)
	resume := stands(t, supervisor, parentOf(t, pidOf(t, state, "etcd")))
	etcd := killProgram(t, "etcd")
	killed := said.kill("scheduler-4")
	agreed := said.agree("scheduler-3", "scheduler-4")
	t.Logf("agreed %v after the kill, epoch %d after %d", g.took(killed, agreed.at), agreed.epoch, before)
	g.silent()
	back := time.Now()
	resume()
	eg := g.holds("scheduler-3", before)
	g.shows("scheduler-3")
	g.told(back, "CoordinatorElected", "scheduler-3 ")
	g.await("every process to use the edited roster", reconciled)
	t.Logf("status, label and event tell it %v after etcd may start again", time.Since(back))
	if *eg.Spec.Processes[0].Priority != 15 {
		t.Error("the last edit before etcd was killed is lost")
	}
	if managerPID(t) != manager || manager == 0 || pidOf(t, state, "etcd") == etcd {
		t.Errorf("manager %d after %d: it did not outlive etcd, %d after %d", managerPID(t), manager, pidOf(t, state, "etcd"), etcd)
	}
	said.undisturbed(back, "scheduler-3", "scheduler-4")
}

// All managers are killed, and nobody starts them again, nor any container, while coordinator after
// coordinator is killed.
func allManagersKilled(t *testing.T) {
	g, classic := newGroup(t, "managers-killed"), newGroup(t, "managers-killed-classic")
	before := g.settled()
	classic.unhurried("podesta_v1_electiongroup_classic.yaml")
	classic.agree("scheduler-4")
	classic.await("every process to use the roster", reconciled)
	classic.shows("scheduler-4")
	said, saidClassic := g.chronicle(), classic.chronicle()
	resume := stands(t, supervisor)
	manager := killProgram(t, "manager")
	classic.edit(func(s *v1.ElectionGroupSpec) { s.Processes[0].Priority = ptr.To[int32](15) })
	dead, epoch := []string{}, before.Status.Coordinator.Epoch
	for _, step := range [][2]string{{"scheduler-4", "scheduler-3"}, {"scheduler-3", "scheduler-2"}} {
		killed := said.kill(step[0])
		saidClassic.kill(step[0])
		dead = append(dead, step[0])
		agreed := said.agree(step[1], dead...)
		g.took(killed, saidClassic.agree(step[1], dead...).at)
		t.Logf("Guarded: agreed %v after the kill, epoch %d after %d", g.took(killed, agreed.at), agreed.epoch, epoch)
		if said.acts(step[1]); agreed.epoch <= epoch {
			t.Errorf("%s does not act under a higher epoch", step[1])
		}
		epoch = agreed.epoch
	}
	if eg, err := g.Read(t.Context()); err != nil || !equality.Semantic.DeepEqual(eg.Status.Coordinator, before.Status.Coordinator) {
		t.Errorf("the coordinator in the status changed without a manager: %v", err)
	}
	back := time.Now()
	resume()
	if eg := g.holds("scheduler-2", before.Status.Coordinator.Epoch); eg.Status.Coordinator.Epoch < epoch {
		t.Errorf("the status shows epoch %d, the agents said %d", eg.Status.Coordinator.Epoch, epoch)
	}
	eg := g.shows("scheduler-2")
	g.told(back, "CoordinatorElected", "scheduler-2 ")
	classic.await("every process to use the edited roster", reconciled)
	classic.shows("scheduler-4")
	t.Logf("status, label and event tell it %v after the manager may start again", time.Since(back))
	if managerPID(t) == manager || eg.Status.Roster.Generation != before.Status.Roster.Generation {
		t.Errorf("manager %d after %d made roster generation %d of %d", managerPID(t), manager, eg.Status.Roster.Generation, before.Status.Roster.Generation)
	}
	said.undisturbed(back, "scheduler-2", dead...)
	classic.failsOver(supervisor) // its status said scheduler-4 before the managers were killed, and says so again
}
