package manager

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// label puts a label on a pod; a nil value takes it off.
func label(t *testing.T, pod *corev1.Pod, key string, value *string) {
	t.Helper()
	text := "null"
	if value != nil {
		text = fmt.Sprintf("%q", *value)
	}
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}}}`, key, text)
	must(t, kube.Patch(bg, pod.DeepCopy(), client.RawPatch(types.MergePatchType, patch)))
}

// witnesses: these processes are on the roster as witnesses.
func witnesses(want ...string) func(*v1.ElectionGroup) bool {
	return func(g *v1.ElectionGroup) bool {
		var got []string
		if g.Status.Roster != nil {
			for _, m := range g.Status.Roster.Members {
				if m.Witness != nil && *m.Witness {
					got = append(got, m.Name)
				}
			}
		}
		return fmt.Sprint(got) == fmt.Sprint(want)
	}
}

// A pod that is labelled as a witness votes with priority 0. Its label is taken off (no policy
// keeps it here), the group is edited, and another manager takes over: the pod stays what it was.
func TestAWitnessIsOneForGood(t *testing.T) {
	m := startManager(t, "")
	namespace := newNamespace(t)
	newGroup(t, namespace, guarded)
	isWitness := func(p *corev1.Pod) { p.Labels[v1.WitnessLabel] = v1.WitnessTrue }
	p := []*process{
		join(t, m, newPod(t, namespace, 0, onNode), nil),
		join(t, m, newPod(t, namespace, 1, onNode), nil),
		join(t, m, newPod(t, namespace, 2, onNode, isWitness), nil),
	}
	sees(t, namespace, "all as voters", votersAre(p...))
	sees(t, namespace, "scheduler-2 as a witness", witnesses("scheduler-2"))
	everybodyHears(t, "that scheduler-2 has priority 0", ranks(1, 2, 0), p...)

	label(t, p[2].Pod, v1.WitnessLabel, nil)
	m.Stop()
	heard := p[0].Heard()
	startManager(t, m.Address)
	p[0].HearsAfter(t, heard, "the same priorities from the next manager", ranks(1, 2, 0))
	g := groupIn(t, namespace)
	before := g.Status.Roster.Generation
	as := client.MergeFrom(g.DeepCopy()) // an Update could meet a conflict: the manager writes the status
	g.Spec.Timing.TimeoutMilliseconds = 700
	must(t, kube.Patch(bg, g, as))
	sees(t, namespace, "a new roster with the witness", func(g *v1.ElectionGroup) bool {
		return g.Status.Roster.Generation > before && witnesses("scheduler-2")(g)
	})
}
