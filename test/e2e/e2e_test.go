package e2e

import (
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// kills is how often each algorithm's coordinator is killed.
const kills = 3

// TestSideBySide has stories of groups that do nothing to the cluster but halt its supervisor for a
// moment, and wait for most of their time.
func TestSideBySide(t *testing.T) {
	for name, story := range map[string]func(*testing.T){
		"KilledCoordinators":    killedCoordinators,
		"GuardedGrowAndShrink":  guardedGrowAndShrink,
		"GuardedRollingRestart": guardedRollingRestart,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			story(t)
		})
	}
}

// The main story: under each algorithm, edited in on the live group, the coordinator is killed
// again and again. After each kill the survivors agree, the status and the label show it, and the
// killed one recovers. Then the coordinator is paused: its links stay open, so it is found by
// asking. When it goes on, there are two coordinators for a moment, and the higher one wins:
// Classic promises no more.
func killedCoordinators(t *testing.T) {
	g := newGroup(t, "kills")
	g.sample()
	g.agree("scheduler-4")
	g.shows("scheduler-4")
	for _, algorithm := range []v1.Algorithm{v1.Bully, v1.StatusTableBully, v1.LeLann, v1.ChangRoberts, v1.RingList, v1.ActiveListRing} {
		g.edit(func(s *v1.ElectionGroupSpec) { s.Algorithm = algorithm })
		g.await("every process to use the edited roster", reconciled)
		for range kills {
			// So many failovers use up the group's budget of writes, and on a busy machine each takes more
			// of it. Then the status may come after scheduler-4 is back.
			resume := stands(t, supervisor)
			killed := g.kill("scheduler-4")
			agreed := g.agree("scheduler-3", "scheduler-4")
			eg := g.shows("scheduler-3", "scheduler-4")
			resume()
			t.Logf("%s: agreed after %v, status after %v", algorithm, g.took(killed, agreed), g.took(killed, eg.Status.Coordinator.Since.Time))
			g.agree("scheduler-4")
			g.shows("scheduler-4")
		}
		paused := g.signal("scheduler-4", syscall.SIGSTOP)
		t.Logf("%s: agreed %v after the pause began", algorithm, g.took(paused, g.agree("scheduler-3", "scheduler-4")))
		g.signal("scheduler-4", syscall.SIGCONT)
		g.agree("scheduler-4")
		g.shows("scheduler-4")
	}
}

// reconciled: the status speaks of the spec, and all processes that report use its roster.
func reconciled(eg *v1.ElectionGroup) bool {
	return eg.Status.ObservedGeneration == eg.Generation && condition(eg, v1.ConditionReconciling) == "False" && condition(eg, v1.ConditionReady) == "True"
}

// Twenty pods start at once: in the end there is one coordinator for everybody, the highest.
func TestColdStartOfTwenty(t *testing.T) {
	g := newGroup(t, "cold-start")
	g.ordinals(20)
	g.agree("scheduler-19")
	eg := g.shows("scheduler-19")
	if n := len(eg.Status.Processes); n != 20 {
		t.Errorf("the table has %d rows", n)
	}
}

// Priorities and the algorithm are edited on a live group: the coordinator changes with the former
// and stays with the latter.
func TestEdits(t *testing.T) {
	g := newGroup(t, "edits")
	g.ordinals(4)
	g.edit(calm)
	g.agree("scheduler-3")
	g.edit(func(s *v1.ElectionGroupSpec) {
		s.Processes = []v1.Process{{Name: "scheduler-0", Priority: ptr.To[int32](100)}}
	})
	g.agree("scheduler-0")
	since := g.shows("scheduler-0").Status.Coordinator.Since
	said := g.chronicle()
	said.agree("scheduler-0")
	edited := time.Now()
	g.edit(func(s *v1.ElectionGroupSpec) { s.Algorithm = v1.ChangRoberts })
	g.await("every process to use the edited roster", reconciled)
	pass(t, time.Now().Add(settling))
	said.undisturbed(edited, "scheduler-0")
	if eg := g.shows("scheduler-0"); !eg.Status.Coordinator.Since.Equal(&since) {
		t.Errorf("an edit of the algorithm changed the coordinator: since %v, before %v", eg.Status.Coordinator.Since, since)
	}
	g.edit(func(s *v1.ElectionGroupSpec) { s.Processes[0].Priority = ptr.To[int32](0) })
	g.agree("scheduler-3")
	g.shows("scheduler-3")
}

// A coordinator's pod is deleted: it hands over, and its successor is elected before it is gone.
// Its row stays, as the spec names it.
func TestDeletedCoordinatorHandsOver(t *testing.T) {
	g := newGroup(t, "deleted")
	g.sample()
	g.agree("scheduler-4")
	g.shows("scheduler-4") // or the status may never have named it
	deleted := time.Now()
	g.must(g.deletePod(t.Context(), "scheduler-4"))
	gone := time.Now()
	if agreed := g.agree("scheduler-3"); agreed.After(gone) {
		t.Errorf("agreed %v after the deletion; the pod was gone after %v", agreed.Sub(deleted), gone.Sub(deleted))
	} else {
		t.Logf("agreed %v after the deletion; the pod was gone after %v", g.took(deleted, agreed), gone.Sub(deleted))
	}
	eg := g.shows("scheduler-3", "scheduler-4")
	if all := eg.Status.Elections; len(all) < 2 || all[0].Reason != "HandedOver" || all[0].Initiator != "scheduler-4" ||
		all[0].From != "scheduler-4" || all[0].To != "scheduler-3" || all[1].To != "scheduler-4" {
		t.Errorf("the last elections are %+v: scheduler-4 did not hand over", all)
	}
}
