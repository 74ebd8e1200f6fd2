package e2e

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
)

// guardedKills is how often each algorithm's coordinator is killed; each costs a lease.
const guardedKills = 2

// always lets the highest process take over as soon as it answers, so that the next kill finds it.
func always(s *v1.ElectionGroupSpec) { s.Preemption = &v1.Preemption{Policy: v1.Always} }

// calm lets a busy machine be slow: where nobody is disturbed, nobody may seem to be.
func calm(s *v1.ElectionGroupSpec) {
	s.Timing = v1.Timing{HeartbeatMilliseconds: 750, TimeoutMilliseconds: 5000}
	if s.Safety != v1.Classic { // one length, or a leaseholder asks for short ones
		s.Timing.LeaseMinimumMilliseconds, s.Timing.LeaseMaximumMilliseconds = 3000, 3000
	}
}

// steady is calm, and lets the highest process take over.
func steady(s *v1.ElectionGroupSpec) {
	always(s)
	calm(s)
}

// The main story, Guarded: after each kill the next one holds once the dead one's lease has run
// out, under a higher epoch, and the killed one takes over again by a hand-over.
func TestGuardedKills(t *testing.T) {
	g := newGroup(t, "guarded-kills")
	g.guarded()
	g.edit(always)
	g.agree("scheduler-4")
	g.shows("scheduler-4")
	var epoch int64
	for _, algorithm := range []v1.Algorithm{v1.Bully, v1.StatusTableBully, v1.LeLann, v1.ChangRoberts, v1.RingList, v1.ActiveListRing} {
		g.edit(func(s *v1.ElectionGroupSpec) { s.Algorithm = algorithm })
		g.await("every process to use the edited roster", reconciled)
		epoch = g.holdsByRoster("scheduler-4")
		for range guardedKills {
			resume := stands(t, supervisor) // or its container, on a busy machine, may be back before the lease has run out
			may := g.permission("scheduler-4")
			killed := g.kill("scheduler-4")
			next := g.holds("", epoch).Status.Coordinator
			if next.Name == "scheduler-4" {
				t.Errorf("%s: scheduler-4, which is dead, holds epoch %d in the status", algorithm, next.Epoch)
			}
			took := g.took(killed, next.Since.Time)
			if left := may.left(killed); !may.MayAct || took < left {
				t.Errorf("%s: %s holds %v after the kill; scheduler-4 was told %+v, which ended %v after it", algorithm, next.Name, took, may, left)
			}
			t.Logf("%s: %s holds in the status after %v, epoch %d", algorithm, next.Name, took, next.Epoch)
			resume()
			epoch = g.holds("scheduler-4", next.Epoch).Status.Coordinator.Epoch
			g.agree("scheduler-4")
		}
	}
}

// holdsByRoster waits until the status shows that coordinator under an epoch of the newest roster,
// and returns the epoch: an edit gives it a new one in place, which is not to be taken for that of
// another.
func (g *group) holdsByRoster(coordinator string) int64 {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	eg, err := g.Await(ctx, coordinator+" with an epoch of the newest roster in the status", func(eg *v1.ElectionGroup) bool {
		c, r := eg.Status.Coordinator, eg.Status.Roster
		return c != nil && r != nil && c.Name == coordinator && lease.Epoch(c.Epoch).Generation() == r.Generation
	})
	g.must(err)
	return eg.Status.Coordinator.Epoch
}

// holds waits until the status shows that coordinator (empty: any) under a higher epoch than
// before.
func (g *group) holds(coordinator string, after int64) *v1.ElectionGroup {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(g.t.Context(), patience)
	defer cancel()
	eg, err := g.Await(ctx, fmt.Sprintf("%q with an epoch above %d in the status", coordinator, after), func(eg *v1.ElectionGroup) bool {
		c := eg.Status.Coordinator
		return c != nil && (coordinator == "" || c.Name == coordinator) && c.Epoch > after
	})
	g.must(err)
	return eg
}

// A coordinator that was paused for longer than its lease may not act when it goes on, and says so
// at once.
func TestGuardedPause(t *testing.T) {
	g := newGroup(t, "guarded-pause")
	g.guarded()
	g.edit(never)
	g.edit(calm)
	g.agree("scheduler-4")
	g.shows("scheduler-4")
	said := g.chronicle()
	said.agree("scheduler-4")
	if !g.mayAct("scheduler-4") {
		t.Error("scheduler-4 may not act before the pause")
	}
	paused := g.signal("scheduler-4", syscall.SIGSTOP)
	t.Logf("agreed %v after the pause began", g.took(paused, said.agree("scheduler-3", "scheduler-4").at))
	resumed := g.signal("scheduler-4", syscall.SIGCONT)
	if g.mayAct("scheduler-4") {
		t.Error("scheduler-4 may act after a pause longer than its lease")
	}
	said.agree("scheduler-3")
	pass(t, resumed.Add(settling))
	said.undisturbed(resumed, "scheduler-3", "scheduler-4")
}

// Three voters become seven and three again, one voter a step. Each coordinator hands over to the
// next, and at the end it is the highest; nobody acts only while it does.
func guardedGrowAndShrink(t *testing.T) {
	g := newGroup(t, "guarded-grow")
	g.found(v1.Guarded, 3)
	g.edit(always)
	g.agree("scheduler-2")
	g.voting(3)
	epoch := g.holdsByRoster("scheduler-2")
	g.shows("scheduler-2")
	told := g.chronicle()
	told.agree("scheduler-2")
	g.add(3, 6)
	g.running(7)
	g.voting(7)
	g.agree("scheduler-6")
	epoch = g.holds("scheduler-6", epoch).Status.Coordinator.Epoch
	g.shows("scheduler-6")
	for i := 6; i >= 3; i-- {
		g.must(g.deletePod(t.Context(), g.podName(i)))
	}
	g.running(3)
	g.voting(3)
	g.agree("scheduler-2")
	g.holds("scheduler-2", epoch)
	g.shows("scheduler-2")
	told.stepwise(3, 7)
	t.Logf("scheduler-0 followed nobody for %v at most", told.nobody("scheduler-0"))
}

// A rolling restart of a group in which nobody preempts changes the coordinator once if its pod is
// the last one, as that of the lowest ordinal is in a StatefulSet: it hands over to one that has
// been restarted. If it is the first one, it takes two: whoever takes over then is yet to be
// restarted.
func guardedRollingRestart(t *testing.T) {
	for _, c := range []struct {
		name         string
		order        []int
		coordinators []string
	}{
		{"the coordinator is the last", []int{0, 1, 2}, []string{"scheduler-2", "scheduler-1"}},
		{"the coordinator is the first", []int{2, 1, 0}, []string{"scheduler-2", "scheduler-1", "scheduler-2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGroup(t, "guarded-rolling")
			g.found(v1.Guarded, 3)
			g.edit(never)
			g.edit(calm)
			g.agree("scheduler-2")
			g.shows("scheduler-2")
			told := g.chronicle()
			told.shows("scheduler-2")
			for _, i := range c.order {
				g.must(g.deletePod(t.Context(), g.podName(i)))
				g.running(2)
				g.add(i, i)
				g.running(3)
				g.voting(3)
			}
			last := c.coordinators[len(c.coordinators)-1]
			g.agree(last)
			g.shows(last)
			told.shows(last)
			if got := told.coordinators(); !slices.Equal(got, c.coordinators) {
				t.Errorf("the coordinators were %v, want %v: %v", got, c.coordinators, told.since(time.Time{}))
			}
		})
	}
}

// An app that dies with its agent alive closes its session: its process hands over at once and is
// no candidate until the app is back.
func TestGuardedAppDies(t *testing.T) {
	g := newGroup(t, "guarded-app")
	g.guarded()
	g.edit(steady)
	g.agree("scheduler-4")
	g.await("every process to use the edited roster", reconciled)
	g.shows("scheduler-4")
	session, die := context.WithCancel(t.Context())
	app := g.ask(session, "scheduler-4", "/v1/session")
	first, err := bufio.NewReader(app.Body).ReadString('}')
	g.must(err)
	if !strings.Contains(first, `"mayAct":true`) {
		t.Errorf("the session begins with %s", first)
	}
	said := g.chronicle()
	said.agree("scheduler-4")
	begun := time.Now()
	die()
	_ = app.Body.Close()
	agreed := said.agree("scheduler-3")
	t.Logf("agreed %v after the app's death", g.took(begun, agreed.at))
	g.shows("scheduler-3")
	pass(t, agreed.at.Add(settling)) // with preemption Always a candidate of its priority would take over
	said.undisturbed(agreed.at, "scheduler-3")
	back := g.ask(t.Context(), "scheduler-4", "/v1/session")
	defer back.Body.Close()
	g.agree("scheduler-4")
	g.shows("scheduler-4")
}

// Three of five are force-deleted while nothing tells that they ended: the group stops and says
// why, until an operator forgets them.
func TestGuardedMajorityLost(t *testing.T) {
	g := newGroup(t, "guarded-lost")
	g.found(v1.Guarded, 5)
	g.agree("scheduler-4")
	g.voting(5)
	g.shows("scheduler-4")
	if !g.mayAct("scheduler-4") {
		t.Error("scheduler-4 may not act while all is well")
	}
	for i := 2; i <= 4; i++ { // nobody can tell the kubelet's word from silence: these pods vanish with their objects
		g.signal(g.podName(i), syscall.SIGSTOP)
		g.must(g.forceDeletePod(t.Context(), g.podName(i)))
	}
	g.await("the group to stop and say why", func(eg *v1.ElectionGroup) bool {
		return eg.Status.Coordinator == nil && condition(eg, v1.ConditionStalled) == "True"
	})
	if g.mayAct("scheduler-0") || g.mayAct("scheduler-1") {
		t.Error("a minority acts")
	}
	out, notes, err := g.plugin("forget", g.Group, "--yes")
	t.Logf("kubectl election forget:\n%s%s", out, notes)
	g.must(err)
	g.running(2)
	g.agree("scheduler-1")
	g.shows("scheduler-1")
}
