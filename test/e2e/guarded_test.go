package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
)

// guardedKills is how often each algorithm's coordinator is killed; each costs a lease.
const guardedKills = 3

// always lets the highest process take over as soon as it answers, so that the next kill finds it.
func always(s *v1.ElectionGroupSpec) { s.Preemption = &v1.Preemption{Policy: v1.Always} }

// The main story, Guarded: after each kill the next one holds once the dead one's lease has run out, under a higher epoch, and the
// killed one takes over again by a hand-over.
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
			killed := g.kill("scheduler-4")
			eg := g.holds("", epoch)
			next := eg.Status.Coordinator
			if took := next.Since.Sub(killed); took < 0 {
				t.Errorf("%s: %s holds since %v before the kill", algorithm, next.Name, -took)
			}
			t.Logf("%s: %s holds in the status after %v, epoch %d", algorithm, next.Name, next.Since.Sub(killed), next.Epoch)
			epoch = next.Epoch
			if next.Name != "scheduler-4" { // whose container, on a busy machine, may be back before the lease has run out
				epoch = g.holds("scheduler-4", epoch).Status.Coordinator.Epoch
			}
			g.agree("scheduler-4")
		}
	}
}

// holdsByRoster waits until the status shows that coordinator under an epoch of the newest roster, and
// returns the epoch: an edit gives it a new one in place, which is not to be taken for that of another.
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

// holds waits until the status shows that coordinator (empty: any) under a higher epoch than before.
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

// A coordinator that was paused for longer than its lease may not act when it goes on, and says so at once.
func TestGuardedPause(t *testing.T) {
	g := newGroup(t, "guarded-pause")
	g.guarded()
	g.agree("scheduler-4")
	g.shows("scheduler-4")
	paused := g.signal("scheduler-4", syscall.SIGSTOP)
	t.Logf("agreed %v after the pause began", g.agree("scheduler-3", "scheduler-4").Sub(paused))
	g.signal("scheduler-4", syscall.SIGCONT)
	if g.mayAct("scheduler-4") {
		t.Error("scheduler-4 may act after a pause longer than its lease")
	}
	g.agree("scheduler-3") // Delayed: it does not take over at once
}

// mayAct asks a pod's agent as its app would.
func (g *group) mayAct(pod string) bool {
	g.t.Helper()
	response := g.ask(g.t.Context(), pod, "/v1/leader")
	defer response.Body.Close()
	var said struct{ MayAct bool }
	g.must(json.NewDecoder(response.Body).Decode(&said))
	return said.MayAct && response.StatusCode == http.StatusOK
}

func (g *group) ask(ctx context.Context, pod, path string) *http.Response {
	g.t.Helper()
	pods, err := g.Pods(ctx)
	g.must(err)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+pods[pod].Status.PodIP+":4040"+path, nil)
	g.must(err)
	if path == "/v1/session" {
		request.Header.Set("Podesta-Session", "open")
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	g.must(err)
	return response
}

// Three voters become seven and three again, one voter a step, and somebody may act all the time: at the end it is the highest.
func TestGuardedGrowAndShrink(t *testing.T) {
	g := newGroup(t, "guarded-grow")
	g.found(v1.Guarded, 3)
	g.edit(always)
	g.agree("scheduler-2")
	epoch := g.shows("scheduler-2").Status.Coordinator.Epoch
	g.add(3, 6)
	g.running(7)
	g.await("seven voters", func(eg *v1.ElectionGroup) bool { return voters(eg) == 7 && reconciled(eg) })
	g.agree("scheduler-6")
	epoch = g.holds("scheduler-6", epoch).Status.Coordinator.Epoch
	g.shows("scheduler-6")
	for i := 6; i >= 3; i-- {
		g.must(g.deletePod(t.Context(), g.podName(i)))
	}
	g.running(3)
	g.await("three voters", func(eg *v1.ElectionGroup) bool { return voters(eg) == 3 && reconciled(eg) })
	g.agree("scheduler-2")
	g.holds("scheduler-2", epoch)
	g.shows("scheduler-2")
}

func voters(eg *v1.ElectionGroup) (n int) {
	if eg.Status.Roster == nil {
		return 0
	}
	for _, m := range eg.Status.Roster.Members {
		if m.Voter != nil && *m.Voter {
			n++
		}
	}
	return n
}

// A rolling restart of a group in which nobody preempts changes the coordinator once if its pod is the last one, as that of the
// lowest ordinal is in a StatefulSet: it hands over to one that has been restarted. If it is the first one, it takes two: whoever
// takes over then is yet to be restarted.
func TestGuardedRollingRestart(t *testing.T) {
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
			g.edit(func(s *v1.ElectionGroupSpec) { s.Preemption = &v1.Preemption{Policy: v1.Never} })
			g.agree("scheduler-2")
			g.shows("scheduler-2")
			told := g.chronicle()
			for _, i := range c.order {
				g.must(g.deletePod(t.Context(), g.podName(i)))
				g.running(2)
				g.add(i, i)
				g.running(3)
				g.await("three voters", func(eg *v1.ElectionGroup) bool { return voters(eg) == 3 && reconciled(eg) })
			}
			last := c.coordinators[len(c.coordinators)-1]
			g.agree(last)
			g.shows(last)
			if got := told.coordinators(); !slices.Equal(got, c.coordinators) {
				t.Errorf("the coordinators were %v, want %v: %v", got, c.coordinators, told.since(time.Time{}))
			}
		})
	}
}

// An app that dies with its agent alive closes its session: its process hands over at once and is no candidate until the app is back.
func TestGuardedAppDies(t *testing.T) {
	g := newGroup(t, "guarded-app")
	g.guarded()
	g.edit(always)
	g.agree("scheduler-4")
	g.shows("scheduler-4")
	session, die := context.WithCancel(t.Context())
	app := g.ask(session, "scheduler-4", "/v1/session")
	permission, err := bufio.NewReader(app.Body).ReadString('}')
	g.must(err)
	if !strings.Contains(permission, `"mayAct":true`) {
		t.Errorf("the session begins with %s", permission)
	}
	begun := time.Now()
	die()
	_ = app.Body.Close()
	t.Logf("agreed %v after the app's death", g.agree("scheduler-3").Sub(begun))
	g.shows("scheduler-3")
	back := g.ask(t.Context(), "scheduler-4", "/v1/session")
	defer back.Body.Close()
	g.agree("scheduler-4")
	g.shows("scheduler-4")
}

// Without manager and API server's writes elections go on: the manager is killed, then the coordinator.
func TestGuardedManagerDown(t *testing.T) {
	g := newGroup(t, "guarded-manager")
	g.guarded()
	g.agree("scheduler-4")
	g.await("every process to use the roster", reconciled)
	g.holdsByRoster("scheduler-4")
	before := g.shows("scheduler-4")
	pid := managerPID(t)
	g.must(syscall.Kill(pid, syscall.SIGKILL))
	g.kill("scheduler-4")
	g.agree("scheduler-3", "scheduler-4")
	g.await("the manager to be back", func(eg *v1.ElectionGroup) bool { return managerPID(t) != pid && reconciled(eg) })
	g.holds("scheduler-4", before.Status.Coordinator.Epoch) // stable for five seconds, it took over
	if eg := g.shows("scheduler-4"); eg.Status.Roster.Generation != before.Status.Roster.Generation {
		t.Errorf("a restart of the manager made roster generation %d of %d", eg.Status.Roster.Generation, before.Status.Roster.Generation)
	}
}

// Three of five are force-deleted while nothing tells that they ended: the group stops and says why, until an operator forgets them.
func TestGuardedMajorityLost(t *testing.T) {
	g := newGroup(t, "guarded-lost")
	g.found(v1.Guarded, 5)
	g.agree("scheduler-4")
	g.shows("scheduler-4")
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
	plugin := exec.CommandContext(t.Context(), filepath.Join(root, "bin/kubectl-election"), "forget", g.Group, "-n", g.Namespace, "--yes", "--kubeconfig", kubeconfig)
	out, err := plugin.CombinedOutput()
	t.Logf("kubectl election forget:\n%s", out)
	g.must(err)
	g.running(2)
	g.agree("scheduler-1")
	g.shows("scheduler-1")
}
