package manager

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// A coordinator's pod that leaves its group while no manager runs loses the role label when one
// leads: nothing watches it any more.
func TestAPodThatLeftWhileNoManagerRan(t *testing.T) {
	namespace := newNamespace(t)
	left := server.NewPod(t, namespace, 0, func(p *corev1.Pod) {
		p.Labels = map[string]string{v1.RoleLabel: v1.RoleCoordinator, "app": "shop"}
	})
	startManager(t, "")
	eventually(t, "the role label to go", func() bool {
		must(t, kube.Get(bg, client.ObjectKeyFromObject(left), left))
		return left.Labels[v1.RoleLabel] == ""
	})
	if left.Labels["app"] != "shop" {
		t.Errorf("its labels are %v: only the role was to go", left.Labels)
	}
}

// So does a pod whose label names a group that does not exist: it was deleted while no manager ran.
func TestAPodOfAGroupThatWasDeletedWhileNoManagerRan(t *testing.T) {
	namespace := newNamespace(t)
	left := server.NewPod(t, namespace, 0, func(p *corev1.Pod) {
		p.Labels = map[string]string{v1.RoleLabel: v1.RoleCoordinator, v1.GroupLabel: "nowhere"}
	})
	startManager(t, "")
	eventually(t, "the role label to go", func() bool {
		must(t, kube.Get(bg, client.ObjectKeyFromObject(left), left))
		return left.Labels[v1.RoleLabel] == ""
	})
	if left.Labels[v1.GroupLabel] != "nowhere" {
		t.Errorf("its labels are %v: only the role was to go", left.Labels)
	}
}
