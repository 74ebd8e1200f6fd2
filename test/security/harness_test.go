package security

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/controllers"
	"github.com/podesta-dev/podesta/test/envtest"
)

// checkEvery is how often the managers here check the CA: a new authority may sign within a second.
const checkEvery = 100 * time.Millisecond

// startManager starts a manager in the namespace that serves agents on the address; "" is any.
func startManager(t *testing.T, system, address string) *envtest.Manager {
	t.Helper()
	return server.StartManager(t, envtest.ManagerOptions{
		Namespace: system,
		Address:   address,
		Edit:      []func(*controllers.Options){func(o *controllers.Options) { o.CheckCAEvery = checkEvery }},
	})
}

// newNamespace makes a namespace with a ServiceAccount for pods, and group scheduler.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := server.NewNamespace(t, "shop-")
	newGroup(t, namespace, "scheduler")
	return namespace
}

func newGroup(t *testing.T, namespace, name string) {
	t.Helper()
	must(t, kube.Create(bg, &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1.ElectionGroupSpec{Safety: v1.Classic}}))
}

func newPod(t *testing.T, namespace string, ordinal int, edit ...func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	return server.NewPod(t, namespace, ordinal, edit...)
}

// join starts the agent of a pod.
func join(t *testing.T, m *envtest.Manager, pod *corev1.Pod, edit ...func(*envtest.Agent)) *envtest.Agent {
	t.Helper()
	return server.Join(t, m.Address, pod, edit...)
}
