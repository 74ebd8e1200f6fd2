package e2e

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// takeBack removes the request to step down.
func (g *group) takeBack() {
	g.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, v1.StepDownAnnotation)
	g.must(g.Patch(g.t.Context(), g.read(), client.RawPatch(types.MergePatchType, patch)))
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

// A leaseholder steps down as planned. It stays aside, also when its successor is killed. When the
// request is taken back it takes over again.
func TestGuardedStepDown(t *testing.T) {
	g := newGroup(t, "guarded-step-down")
	g.guarded()
	g.edit(calm)
	g.agree("scheduler-4")
	g.voting(5)
	g.holdsByRoster("scheduler-4")
	said := g.chronicle()
	said.agree("scheduler-4")
	said.shows("scheduler-4")
	out, notes, err := g.plugin("step-down", g.Group, "--for", "10m", "--yes", "--wait")
	t.Logf("kubectl election step-down:\n%s%s", out, notes)
	g.must(err)
	agreed := said.agree("scheduler-3")
	g.await("scheduler-4 as stepped down", standsAside("scheduler-4"))
	epoch := g.holds("scheduler-3", 0).Status.Coordinator.Epoch
	pass(t, agreed.at.Add(settling)) // one hand-over, and no more
	said.undisturbed(agreed.at, "scheduler-3")

	resume := stands(t, supervisor)
	killed := g.kill("scheduler-3")
	t.Logf("agreed %v after the kill", g.took(killed, said.agree("scheduler-2", "scheduler-3").at))
	resume()
	epoch = g.holds("", epoch).Status.Coordinator.Epoch
	g.agree("scheduler-3") // it is back, and scheduler-4 stands aside
	g.takeBack()
	g.holds("scheduler-4", epoch)
	g.agree("scheduler-4")
	g.shows("scheduler-4")
}
