// Package security tries what SECURITY.md says that nobody can do, and what is said of the CA in docs/reference/identity.md, against a real
// API server, the manager as it is, and the agents' real ends of the protocols. There is no kubelet here.
package security

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/podesta-dev/podesta/controllers"
)

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

var (
	bg     = context.Background()
	config *rest.Config // of an administrator
	kube   client.WithWatch
	core   *kubernetes.Clientset
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.FromSlogHandler(slog.DiscardHandler))
	code, err := runWithServer(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/security:", err)
		code = 1
	}
	os.Exit(code)
}

func runWithServer(m *testing.M) (code int, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, errors.New("KUBEBUILDER_ASSETS is not set: run `make test`, or set it to a directory that holds etcd and kube-apiserver")
	}
	server := &envtest.Environment{CRDDirectoryPaths: []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true}
	if config, err = server.Start(); err != nil {
		return 1, fmt.Errorf("the API server did not start: %w", err)
	}
	defer func() {
		if stopErr := server.Stop(); stopErr != nil && err == nil {
			err = stopErr
		}
	}()
	scheme, err := controllers.NewScheme()
	if err != nil {
		return 1, err
	}
	if kube, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	if core, err = kubernetes.NewForConfig(config); err != nil {
		return 1, err
	}
	cluster := filepath.Join("..", "..", "config", "rbac", "role.yaml")
	if err := create(cluster, "ClusterRole", ""); err != nil {
		return 1, fmt.Errorf("%s: %w", cluster, err)
	}
	return m.Run(), nil
}

// newSystem makes a namespace for a manager, with the rights of config/rbac there. Each test has its own CA.
func newSystem(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "podesta-"}}
	must(t, kube.Create(bg, namespace))
	must(t, create(filepath.Join("..", "..", "config", "rbac", "role.yaml"), "Role", namespace.Name))
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

// create creates the objects of one kind in a file; in the namespace, if there is one.
func create(path, kind, namespace string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(u); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if u.GetKind() != kind {
			continue
		}
		u.SetNamespace(namespace)
		if err := kube.Create(bg, u); err != nil {
			return err
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
