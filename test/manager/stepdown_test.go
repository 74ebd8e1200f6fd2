package manager

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// ranks: the agents are told a roster with these priorities, in ring order.
func ranks(want ...int32) func(roster.Update) bool {
	return func(u roster.Update) bool {
		if u.Roster == nil || len(u.Roster.Processes) != len(want) {
			return false
		}
		for i, p := range u.Roster.Processes {
			if p.Priority != want[i] {
				return false
			}
		}
		return true
	}
}

// outcome: this is what the roster records of a request to step down; empty: nothing.
func outcome(want v1.StepDownOutcome) func(*v1.ElectionGroup) bool {
	return func(g *v1.ElectionGroup) bool {
		w := g.Status.Roster.StepDown
		return w == nil && want == "" || w != nil && w.Outcome == want
	}
}

// led is a group of three voters in which scheduler-2 coordinates under an epoch, and the status
// says so.
func led(t *testing.T, m *manager, epoch int64) (namespace string, p []*process) {
	t.Helper()
	namespace, p = voting(t, m, 3)
	hold(epoch, p[2], p[0], p[1])
	sees(t, namespace, "scheduler-2 as the coordinator", coordinatedUnder("scheduler-2", epoch))
	return namespace, p
}

func everybodyHears(t *testing.T, what string, ok func(roster.Update) bool, processes ...*process) {
	t.Helper()
	for _, p := range processes {
		heard := 0
		p.Look(func() { heard = max(len(p.News)-1, 0) })
		p.HearsAfter(t, heard, what, ok)
	}
}

// A request with a time outlives the manager, which dies while it stands: the next one tells agents
// the same roster, with the same generation. It ends when the annotation is removed.
func TestStepDownOutlivesTheManager(t *testing.T) {
	run := plugin(t)
	m := startManager(t, "")
	namespace, p := led(t, m, 77)
	if said, err := run("", "step-down", "scheduler", "-n", namespace, "--for", "1h", "--yes"); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	everybodyHears(t, "that scheduler-2 has priority 0", ranks(1, 2, 0), p...)
	hold(78, p[1], p[0], p[2])
	seen := sees(t, namespace, "scheduler-1 as the coordinator", coordinatedUnder("scheduler-1", 78))
	before := seen[len(seen)-1].Status.Roster
	m.Stop()
	heard := p[0].Heard()
	startManager(t, m.Address)
	p[0].HearsAfter(t, heard, "the roster of before", func(u roster.Update) bool {
		return ranks(1, 2, 0)(u) && u.Roster.Generation == before.Generation
	})
	g := groupIn(t, namespace)
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, v1.StepDownAnnotation)
	must(t, kube.Patch(bg, g, client.RawPatch(types.MergePatchType, patch)))
	everybodyHears(t, "their own priorities", ranks(1, 2, 3), p...)
	sees(t, namespace, "no request", outcome(""))
}
