// Package security tries what SECURITY.md says that nobody can do, and what is said of the CA in
// docs/reference/identity.md, against a real API server, the manager as it is, and the agents' real
// ends of the protocols. There is no kubelet here.
package security

import (
	"context"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podesta-dev/podesta/test/envtest"
)

const patience = envtest.Patience

var (
	bg         = context.Background()
	must       = envtest.Must
	eventually = envtest.Eventually

	server *envtest.Server
	kube   client.WithWatch
)

func TestMain(m *testing.M) {
	envtest.Main(m, envtest.Options{CRDs: true}, func(s *envtest.Server) error {
		server, kube = s, s.Kube
		return createRole("ClusterRole", "")
	})
}

// newSystem makes a namespace for a manager, with the rights of config/rbac there. Each test has
// its own CA.
func newSystem(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "podesta-"}}
	must(t, kube.Create(bg, namespace))
	must(t, createRole("Role", namespace.Name))
	subject := map[string]any{"kind": "ServiceAccount", "name": "podesta-manager", "namespace": namespace.Name}
	for kind, name := range map[string]string{"Role": "podesta-manager", "ClusterRole": "podesta-manager-" + namespace.Name} {
		binding := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind + "Binding", "metadata": map[string]any{"name": name},
			"subjects": []any{subject},
			"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "podesta-manager"}}}
		if kind == "Role" {
			binding.SetNamespace(namespace.Name)
		}
		must(t, kube.Create(bg, binding))
	}
	return namespace.Name
}

// createRole creates the roles of one kind of config/rbac; in the namespace, if there is one.
func createRole(kind, namespace string) error {
	return server.CreateFile(filepath.Join(envtest.Root, "config", "rbac", "role.yaml"), func(u *unstructured.Unstructured) bool {
		u.SetNamespace(namespace)
		return u.GetKind() == kind
	})
}
