// Package api tests the podesta.dev API as an API server serves it: what it defaults, what it
// refuses and in which words, what it prints and selects. It starts a real kube-apiserver and etcd,
// and no controllers.
package api

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/envtest"
)

var (
	config *rest.Config
	kube   client.Client
)

func TestMain(m *testing.M) {
	envtest.Main(m, envtest.Options{CRDs: true}, func(s *envtest.Server) error {
		config, kube = s.Config, s.Kube
		return nil
	})
}

// newNamespace makes a namespace of the test's own. It is not deleted: nothing would empty it, and
// the server ends soon.
func newNamespace(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "api-"}}
	if err := kube.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// newGroup is a valid group, not yet created, with nothing but its name.
func newGroup(namespace string) *podestav1.ElectionGroup {
	return &podestav1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scheduler"}}
}
