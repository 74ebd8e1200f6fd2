package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// stepDown has an operator ask the coordinator to step down for ten minutes, and waits until
// another one coordinates.
func (g *group) stepDown(more ...string) {
	g.t.Helper()
	arguments := append([]string{"step-down", g.Group, "-n", g.Namespace, "--for", "10m", "--yes", "--wait", "--kubeconfig", kubeconfig},
		more...)
	out, err := exec.CommandContext(g.t.Context(), filepath.Join(root, "bin/kubectl-election"), arguments...).CombinedOutput()
	g.t.Logf("kubectl election step-down:\n%s", out)
	g.must(err)
}

// takeBack removes the request to step down.
func (g *group) takeBack() {
	g.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, v1.StepDownAnnotation)
	g.must(g.Patch(g.t.Context(), g.read(), client.RawPatch(types.MergePatchType, patch)))
}

// without is how long it took from the first agent that followed the coordinator no more until all
// agreed on another one. Until then the coordinator served.
func (c *chronicle) without(begun time.Time, coordinator string, agreed telling) time.Duration {
	c.t.Helper()
	for _, what := range c.since(begun) {
		if what.pod != published && (what.coordinator != coordinator || what.electing) {
			return agreed.at.Sub(what.at)
		}
	}
	c.t.Fatalf("nobody stopped following %s", coordinator)
	return 0
}

// standsAside: the status shows that an operator keeps a process from coordinating.
func standsAside(name string) func(*v1.ElectionGroup) bool {
	return func(eg *v1.ElectionGroup) bool {
		for _, p := range eg.Status.Processes {
			if p.Name == name {
				return p.NotCandidate == v1.NotCandidateSteppedDown
			}
		}
		return false
	}
}

// A leaseholder steps down as planned: the next one holds in less time than after a kill, for which
// a lease must run out. It stays aside, also when its successor is killed. When the request is
// taken back it takes over again.
func TestGuardedStepDown(t *testing.T) {
	g := newGroup(t, "guarded-step-down")
	g.guarded()
	g.agree("scheduler-4")
	g.voting(5)
	g.holdsByRoster("scheduler-4")
	said := g.chronicle()
	said.agree("scheduler-4")
	said.shows("scheduler-4")
	begun := time.Now()
	g.stepDown()
	agreed := said.agree("scheduler-3")
	planned := said.without(begun, "scheduler-4", agreed)
	g.await("scheduler-4 as stepped down", standsAside("scheduler-4"))
	epoch := g.holds("scheduler-3", 0).Status.Coordinator.Epoch
	pass(t, agreed.at.Add(settling)) // one hand-over, and no more
	said.undisturbed(agreed.at, "scheduler-3")

	resume := stands(t, supervisor)
	killed := g.kill("scheduler-3")
	failedOver := g.took(killed, said.agree("scheduler-2", "scheduler-3").at)
	if planned >= failedOver {
		t.Errorf("nobody coordinated for %v when it was planned, and for %v after a kill", planned, failedOver)
	} else {
		t.Logf("nobody coordinated for %v when it was planned, and for %v after a kill", planned, failedOver)
	}
	resume()
	epoch = g.holds("", epoch).Status.Coordinator.Epoch
	g.agree("scheduler-3") // it is back, and scheduler-4 stands aside
	g.takeBack()
	g.holds("scheduler-4", epoch)
	g.agree("scheduler-4")
	g.shows("scheduler-4")
}

// A Classic group hands over as its algorithm has it, once. The bullies take less time for it than
// to notice that a coordinator stands still. A ring may take longer: a process that does not have
// the new priorities yet swallows the message of the successor, as after an edit, and the ring
// calls again when its timer has run out.
func TestClassicStepDown(t *testing.T) {
	g := newGroup(t, "classic-step-down")
	g.sample()
	g.agree("scheduler-4")
	g.shows("scheduler-4")
	for _, algorithm := range []v1.Algorithm{v1.Bully, v1.StatusTableBully, v1.LeLann, v1.ChangRoberts, v1.RingList, v1.ActiveListRing} {
		g.edit(func(s *v1.ElectionGroupSpec) { s.Algorithm = algorithm })
		g.await("every process to use the edited roster", reconciled)
		t.Run(string(algorithm), func(t *testing.T) {
			said := g.chronicle()
			said.agree("scheduler-4")
			said.shows("scheduler-4")
			begun := time.Now()
			g.stepDown("--to", "scheduler-1")
			agreed := said.agree("scheduler-1")
			planned := said.without(begun, "scheduler-4", agreed)
			pass(t, agreed.at.Add(settling))
			said.undisturbed(agreed.at, "scheduler-1")
			paused := g.signal("scheduler-1", syscall.SIGSTOP)
			noticed := g.took(paused, said.agree("scheduler-3", "scheduler-1").at)
			g.signal("scheduler-1", syscall.SIGCONT)
			t.Logf("nobody coordinated for %v when it was planned, and for %v after a pause", planned, noticed)
			if bully := algorithm == v1.Bully || algorithm == v1.StatusTableBully; bully && planned >= noticed {
				t.Errorf("a planned hand-over took longer")
			}
			said.agree("scheduler-1") // it still ranks above all others
			g.takeBack()
			said.agree("scheduler-4")
			g.shows("scheduler-4")
		})
	}
}
