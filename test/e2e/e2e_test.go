package e2e

import (
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/stage"
)

// kills is how often each algorithm's coordinator is killed.
const kills = 10

// TestSideBySide has stories of groups that do nothing to the cluster but halt its supervisor for a
// moment, and wait for most of their time.
func TestSideBySide(t *testing.T) {
	for name, story := range map[string]func(*testing.T){
		"KilledCoordinators":    killedCoordinators,
		"AppGoesIll":            appGoesIll,
		"AppsHaveNotBegun":      appsHaveNotBegun,
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
// killed one recovers.
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
	}
}

// reconciled: the status speaks of the spec, and all processes that report use its roster.
func reconciled(eg *v1.ElectionGroup) bool {
	return eg.Status.ObservedGeneration == eg.Generation && condition(eg, v1.ConditionReconciling) == "False" && condition(eg, v1.ConditionReady) == "True"
}

// quiet is how long a quiet group is watched.
const quiet = 20 * time.Second

// A quiet group costs the API server nothing, and a failover a few writes.
func TestWrites(t *testing.T) {
	g := newGroup(t, "writes")
	g.sample()
	// A busy machine must not look like a failure here: what is counted is a group in which nothing
	// fails.
	g.edit(func(s *v1.ElectionGroupSpec) {
		s.Timing = v1.Timing{HeartbeatMilliseconds: 1000, TimeoutMilliseconds: 10_000}
	})
	g.agree("scheduler-4")
	g.await("every process to use the roster", reconciled)
	g.shows("scheduler-4")
	before := g.writes()
	select {
	case <-time.After(quiet): // what is awaited is that nothing happens
	case <-t.Context().Done():
	}
	after := g.writes()
	if w := after.Since(before); len(w) > 0 || before.Total() == 0 {
		t.Errorf("a quiet group wrote %v within %v", w, quiet)
	}
	resume := stands(t, supervisor) // or the recovery may be counted with the failover
	g.kill("scheduler-4")
	g.agree("scheduler-3", "scheduler-4")
	g.shows("scheduler-3", "scheduler-4")
	failover := g.writes().Since(after)
	resume()
	cameBack := g.comesBack("scheduler-4")
	g.agree("scheduler-4")
	g.shows("scheduler-4")
	both := g.writes().Since(after)
	t.Logf("writes of a failover: %d (%v); with the recovery: %d (%v)", failover.Total(), failover, both.Total(), both)
	if n := failover["APPLY electiongroups/status"]; n != 1 {
		t.Errorf("a failover wrote the status %d times: %v", n, failover)
	}
	for what, most := range map[string]int{"APPLY electiongroups/status": 1 + cameBack, "APPLY pods": 2, "PATCH pods": 2} { // and the recovery as many
		if n := both[what]; n < 1 || n > most {
			t.Errorf("failover and recovery wrote %q %d times, want 1 to %d: %v", what, n, most, both)
		}
	}
}

// comesBack waits until the status has a killed process as the coordinator again, and returns how
// many changes that was: one, or two where the machine is so busy that the status first shows it
// back, and that somebody else still coordinates.
func (g *group) comesBack(pod string) (changes int) {
	g.t.Helper()
	changes = 1
	g.await(pod+" as the coordinator again", func(eg *v1.ElectionGroup) bool {
		if stage.Coordinates(eg, pod) {
			return true
		}
		if stage.State(eg, pod) != v1.ProcessCrashed {
			changes = 2
		}
		return false
	})
	return changes
}

func (g *group) writes() writeCounts {
	g.t.Helper()
	w, err := g.countWrites(g.t.Context())
	g.must(err)
	return w
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

// A coordinator is paused: its links stay open, so it is found by asking. When it goes on, there
// are two coordinators for a moment, and the higher one wins: Classic promises no more.
func TestPausedCoordinator(t *testing.T) {
	g := newGroup(t, "paused")
	g.sample()
	g.agree("scheduler-4")
	g.await("every process to use the roster", reconciled)
	for _, algorithm := range []v1.Algorithm{v1.Bully, v1.StatusTableBully, v1.LeLann, v1.ChangRoberts, v1.RingList, v1.ActiveListRing} {
		g.edit(func(s *v1.ElectionGroupSpec) { s.Algorithm = algorithm })
		g.await("every process to use the edited roster", reconciled)
		paused := g.signal("scheduler-4", syscall.SIGSTOP)
		t.Logf("%s: agreed %v after the pause began", algorithm, g.took(paused, g.agree("scheduler-3", "scheduler-4")))
		g.signal("scheduler-4", syscall.SIGCONT)
		g.agree("scheduler-4")
		g.shows("scheduler-4")
	}
}

// Pods are added, 3 to 7, and taken away again.
func TestGrowAndShrink(t *testing.T) {
	g := newGroup(t, "grow")
	g.ordinals(3)
	g.agree("scheduler-2")
	g.add(3, 6)
	g.running(7)
	g.agree("scheduler-6")
	g.shows("scheduler-6")
	for i := 6; i >= 3; i-- {
		g.must(g.deletePod(t.Context(), g.podName(i)))
	}
	g.running(3)
	g.agree("scheduler-2")
	if eg := g.shows("scheduler-2"); len(eg.Status.Processes) != 3 {
		t.Errorf("the table still has %d rows", len(eg.Status.Processes))
	}
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
	if all := eg.Status.Elections; len(all) < 2 || all[0].Reason != "Withdrawn" || all[0].Initiator != "scheduler-4" ||
		all[0].From != "scheduler-4" || all[0].To != "scheduler-3" || all[1].To != "scheduler-4" {
		t.Errorf("the last elections are %+v: scheduler-4 did not hand over", all)
	}
}

// The manager is killed, then the coordinator: the election goes on without it, and nobody writes
// the status. When it is back, it takes up the edit that was made meanwhile, and sees the next
// failure.
func TestManagerDownDuringAnElection(t *testing.T) {
	g := newGroup(t, "manager-down")
	g.sample()
	g.agree("scheduler-4")
	g.await("every process to use the roster", reconciled)
	g.shows("scheduler-4")
	resume := stands(t, supervisor) // or it starts manager and container again, sooner or later
	manager := killProgram(t, "manager")
	before := g.read()
	killed := g.kill("scheduler-4")
	t.Logf("agreed %v after the kill", g.took(killed, g.agree("scheduler-3", "scheduler-4")))
	if now := g.read(); now.ResourceVersion != before.ResourceVersion {
		t.Errorf("the status changed without a manager: %+v", now.Status)
	}
	g.edit(func(s *v1.ElectionGroupSpec) { s.Processes[0].Priority = ptr.To[int32](15) })
	resume()
	g.agree("scheduler-4")
	restarted(t, manager)
	g.await("every process to use the edited roster", func(eg *v1.ElectionGroup) bool {
		return reconciled(eg) && condition(eg, v1.ConditionDegraded) == "False"
	})
	eg := g.shows("scheduler-4")
	if is, was := eg.Status.Roster.Generation, before.Status.Roster.Generation; is != was+1 {
		t.Errorf("a restart of the manager and an edit made roster generation %d of %d, though nobody joined or left", is, was)
	}
	g.failsOver(supervisor)
}
