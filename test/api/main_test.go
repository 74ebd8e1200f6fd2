// Package api tests the podesta.dev API as an API server serves it: what it defaults, what it refuses and in which words,
// what it prints and selects. It starts a real kube-apiserver and etcd, and no controllers.
package api

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	podestav1 "github.com/podesta-dev/podesta/api/v1"
)

var (
	config *rest.Config
	kube   client.Client
)

func TestMain(m *testing.M) {
	code, err := runWithServer(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/api:", err)
		code = 1
	}
	os.Exit(code)
}

// runWithServer runs the tests against an API server that knows the CRDs of config/crd, and ends it.
func runWithServer(m *testing.M) (code int, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, fmt.Errorf("KUBEBUILDER_ASSETS is not set: run `make test`, or set it to a directory that holds " +
			"etcd and kube-apiserver: KUBEBUILDER_ASSETS=$(bin/cluster assets) go test ./test/api")
	}
	server := &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	config, err = server.Start()
	if err != nil {
		return 1, fmt.Errorf("the API server did not start: %w", err)
	}
	defer func() {
		if stopErr := server.Stop(); stopErr != nil && err == nil {
			err = stopErr
		}
	}()

	known := runtime.NewScheme()
	if err := scheme.AddToScheme(known); err != nil {
		return 1, err
	}
	if err := podestav1.AddToScheme(known); err != nil {
		return 1, err
	}
	kube, err = client.New(config, client.Options{Scheme: known})
	if err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// newNamespace makes a namespace of the test's own. It is not deleted: nothing would empty it, and the server ends soon.
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
