package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// kills is how often each algorithm's coordinator is killed.
const kills = 10

// The main story: under each algorithm, edited in on the live group, the coordinator is killed again and again. After each kill
// the survivors agree, the status and the label show it, and the killed one recovers.
func TestKilledCoordinators(t *testing.T) {
	g := newGroup(t, "kills")
	g.sample()
	g.agree("scheduler-4")
	g.shows("scheduler-4")
	for _, algorithm := range []v1.Algorithm{v1.Bully, v1.StatusTableBully, v1.LeLann, v1.ChangRoberts, v1.RingList, v1.ActiveListRing} {
		g.edit(func(s *v1.ElectionGroupSpec) { s.Algorithm = algorithm })
		g.await("every process to use the edited roster", reconciled)
		for range kills {
			killed := g.kill("scheduler-4")
			agreed := g.agree("scheduler-3", "scheduler-4")
			eg := g.shows("scheduler-3", "scheduler-4")
			t.Logf("%s: agreed after %v, status after %v", algorithm, agreed.Sub(killed), eg.Status.Coordinator.Since.Sub(killed))
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
	// A busy machine must not look like a failure here: what is counted is a group in which nothing fails.
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
	if w := after.Since(before); w.Total() > 0 {
		t.Errorf("a quiet group wrote %v within %v", w, quiet)
	}
	g.kill("scheduler-4")
	g.agree("scheduler-3", "scheduler-4")
	g.shows("scheduler-3", "scheduler-4")
	failover := g.writes().Since(after)
	g.agree("scheduler-4")
	g.shows("scheduler-4")
	both := g.writes().Since(after)
	t.Logf("writes of a failover: %d (%v); with the recovery: %d (%v)", failover.Total(), failover, both.Total(), both)
	if n := failover["APPLY electiongroups/status"]; n != 1 {
		t.Errorf("a failover wrote the status %d times: %v", n, failover)
	}
}

func (g *group) writes() writeCounts {
	g.t.Helper()
	w, err := g.countWrites(g.t.Context())
	g.must(err)
	return w
}

// Twenty pods start at once: exactly one coordinator, the highest, for everybody.
func TestColdStartOfTwenty(t *testing.T) {
	g := newGroup(t, "cold-start")
	g.ordinals(20)
	g.agree("scheduler-19")
	eg := g.shows("scheduler-19")
	if n := len(eg.Status.Processes); n != 20 {
		t.Errorf("the table has %d rows", n)
	}
}

// Priorities and the algorithm are edited on a live group: the coordinator changes with the former and stays with the latter.
func TestEdits(t *testing.T) {
	g := newGroup(t, "edits")
	g.ordinals(4)
	g.agree("scheduler-3")
	g.edit(func(s *v1.ElectionGroupSpec) {
		s.Processes = []v1.Process{{Name: "scheduler-0", Priority: ptr.To[int32](100)}}
	})
	g.agree("scheduler-0")
	since := g.shows("scheduler-0").Status.Coordinator.Since
	g.edit(func(s *v1.ElectionGroupSpec) { s.Algorithm = v1.ChangRoberts })
	g.await("every process to use the edited roster", reconciled)
	if eg := g.shows("scheduler-0"); !eg.Status.Coordinator.Since.Equal(&since) {
		t.Errorf("an edit of the algorithm changed the coordinator: since %v, before %v", eg.Status.Coordinator.Since, since)
	}
	g.edit(func(s *v1.ElectionGroupSpec) { s.Processes[0].Priority = ptr.To[int32](0) })
	g.agree("scheduler-3")
	g.shows("scheduler-3")
}

// A coordinator is paused: its links stay open, so it is found by asking. When it goes on, there are two coordinators for a
// moment, and the higher one wins: Classic promises no more.
func TestPausedCoordinator(t *testing.T) {
	g := newGroup(t, "paused")
	g.sample()
	g.agree("scheduler-4")
	g.await("every process to use the roster", reconciled)
	for _, algorithm := range []v1.Algorithm{v1.Bully, v1.StatusTableBully, v1.LeLann, v1.ChangRoberts, v1.RingList, v1.ActiveListRing} {
		g.edit(func(s *v1.ElectionGroupSpec) { s.Algorithm = algorithm })
		g.await("every process to use the edited roster", reconciled)
		paused := g.signal("scheduler-4", syscall.SIGSTOP)
		t.Logf("%s: agreed %v after the pause began", algorithm, g.agree("scheduler-3", "scheduler-4").Sub(paused))
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

// A coordinator's pod is deleted: it hands over, and its successor is elected before it is gone. Its row stays, as the spec
// names it.
func TestDeletedCoordinatorHandsOver(t *testing.T) {
	g := newGroup(t, "deleted")
	g.sample()
	g.agree("scheduler-4")
	g.must(g.deletePod(t.Context(), "scheduler-4"))
	g.agree("scheduler-3")
	eg := g.shows("scheduler-3", "scheduler-4")
	if last := eg.Status.LastElection; last == nil || last.Reason != "Withdrawn" || last.Initiator != "scheduler-4" {
		t.Errorf("the last election is %+v: scheduler-4 did not hand over", last)
	}
}

// The manager is killed, then the coordinator: the election goes on without it. When it is back, it shows what is.
func TestManagerDownDuringAnElection(t *testing.T) {
	g := newGroup(t, "manager-down")
	g.sample()
	g.agree("scheduler-4")
	g.await("every process to use the roster", reconciled)
	before := g.shows("scheduler-4")
	pid := managerPID(t)
	g.must(syscall.Kill(pid, syscall.SIGKILL))
	g.kill("scheduler-4")
	g.agree("scheduler-3", "scheduler-4")
	if eg, err := g.Read(t.Context()); err != nil || managerPID(t) == 0 && eg.ResourceVersion != before.ResourceVersion {
		t.Errorf("the status changed without a manager: %v", err)
	}
	g.agree("scheduler-4") // its container was restarted; no manager is needed for that
	g.await("every process to use the roster", func(eg *v1.ElectionGroup) bool {
		return managerPID(t) != pid && reconciled(eg) && condition(eg, v1.ConditionDegraded) == "False"
	})
	eg := g.shows("scheduler-4")
	if eg.Status.Roster.Generation != before.Status.Roster.Generation {
		t.Errorf("a restart of the manager made roster generation %d of %d, though nobody joined or left", eg.Status.Roster.Generation, before.Status.Roster.Generation)
	}
}

// managerPID is the manager's process; 0 while it is down.
func managerPID(t *testing.T) int {
	t.Helper()
	return pidOf(t, state, "manager")
}

// pidOf is the process of a program of the cluster with that directory; 0 while it is down.
func pidOf(t *testing.T, state, program string) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(state, program+".pid"))
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}
