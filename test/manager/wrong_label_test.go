package manager

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/envtest"
)

// A pod whose label names no group has an event. Its agent knows what it waits for, and the group
// that is probably meant names the pod. All that ends when the group is made.
func TestAPodWhoseLabelNamesNoGroup(t *testing.T) {
	m := startManager(t, "")
	namespace := newNamespace(t)
	newGroup(t, namespace)
	p := join(t, m, newPod(t, namespace, 0, func(pod *corev1.Pod) {
		pod.Name, pod.Labels = "web-0", map[string]string{v1.GroupLabel: "schedulers"}
	}), nil)
	const why = "group schedulers does not exist in this namespace; there is scheduler"
	eventBegins(t, namespace, "GroupMissing: "+why+". Correct the label podesta.dev/group")
	envtest.Eventually(t, "the agent is told", func() bool {
		hold, admitted, _ := p.Client.Standing()
		return admitted && hold.Reason == why && !hold.Ready
	})
	named := func(g *v1.ElectionGroup) bool {
		c := meta.FindStatusCondition(g.Status.Conditions, v1.ConditionDegraded)
		return c != nil && strings.Contains(c.Message, "web-0 has the label podesta.dev/group=schedulers")
	}
	sees(t, namespace, "the pod in its status", named)
	newGroup(t, namespace, func(g *v1.ElectionGroup) { g.Name = "schedulers" })
	envtest.Eventually(t, "the agent waits no longer", func() bool {
		hold, _, _ := p.Client.Standing()
		return hold.Reason == ""
	})
	sees(t, namespace, "nothing of the pod", func(g *v1.ElectionGroup) bool {
		return g.Name == "scheduler" && !named(g)
	})
}
