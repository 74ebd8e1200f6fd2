// Package manager tests the manager as a whole against a real API server: what it writes, in which
// order, how often, and what it tells agents. The agents' ends are real (roster.Client, real
// tokens); what they report is scripted. There is no kubelet and no election here.
package manager

import (
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podesta-dev/podesta/test/envtest"
)

// system is the manager's own namespace.
const system = "podesta-system"

var (
	server *envtest.Server
	kube   client.WithWatch
)

func TestMain(m *testing.M) {
	envtest.Main(m, envtest.Options{CRDs: true}, func(s *envtest.Server) error {
		server, kube = s, s.Kube
		return installManagerRole()
	})
}

// installManagerRole grants the manager's ServiceAccount what config/rbac grants it: the tests run
// the manager as that account.
func installManagerRole() error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}}
	if err := kube.Create(bg, namespace); err != nil {
		return err
	}
	for _, file := range []string{"role.yaml", "role_binding.yaml", "service_account.yaml"} {
		err := server.CreateFile(filepath.Join(envtest.Root, "config", "rbac", file), func(u *unstructured.Unstructured) bool {
			namespaced := u.GetKind() == "Role" || u.GetKind() == "RoleBinding" || u.GetKind() == "ServiceAccount"
			if namespaced && u.GetNamespace() == "" {
				u.SetNamespace(system)
			}
			return true
		})
		if err != nil {
			return err
		}
	}
	return nil
}
