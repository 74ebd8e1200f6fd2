// Package manager tests the manager as a whole against a real API server: what it writes, in which order, how often, and what
// it tells agents. The agents' ends are real (roster.Client, real tokens); what they report is scripted. There is no kubelet
// and no election here.
package manager

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/podesta-dev/podesta/controllers"
)

// system is the manager's own namespace.
const system = "podesta-system"

var (
	server *envtest.Environment
	config *rest.Config // of an administrator
	kube   client.WithWatch
	core   *kubernetes.Clientset
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.FromSlogHandler(slog.DiscardHandler))
	code, err := runWithServer(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/manager:", err)
		code = 1
	}
	os.Exit(code)
}

func runWithServer(m *testing.M) (code int, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, fmt.Errorf("KUBEBUILDER_ASSETS is not set: run `make test`, or set it to a directory that holds etcd and kube-apiserver")
	}
	server = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("..", "..", "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
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
	if err := installManagerRole(); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// installManagerRole grants the manager's ServiceAccount what config/rbac grants it: the tests run the manager as that account.
func installManagerRole() error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: system}}
	if err := kube.Create(bg, namespace); err != nil {
		return err
	}
	for _, file := range []string{"role.yaml", "role_binding.yaml", "service_account.yaml"} {
		if err := applyFile(filepath.Join("..", "..", "config", "rbac", file)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}
