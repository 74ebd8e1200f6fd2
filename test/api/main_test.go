// Package api tests the podesta.dev API as an API server serves it: what it defaults, what it
// refuses and in which words, what it prints and selects. It starts a real kube-apiserver and etcd,
// and no controllers.
package api

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/test/envtest"
)

var (
	must = envtest.Must

	server *envtest.Server
	config *rest.Config
	kube   client.Client
)

func TestMain(m *testing.M) {
	envtest.Main(m, envtest.Options{CRDs: true}, func(s *envtest.Server) error {
		server, config, kube = s, s.Config, s.Kube
		return nil
	})
}

func newNamespace(t *testing.T) string {
	t.Helper()
	return server.NewNamespace(t, "api-")
}

// newGroup is a valid group, not yet created, with nothing but its name.
func newGroup(namespace string) *podestav1.ElectionGroup {
	return &podestav1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "scheduler"}}
}
