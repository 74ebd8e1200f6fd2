// Package envtest is what tests against a real kube-apiserver and etcd share: the server, objects
// as users and kubelets make them, a manager with the rights of its ServiceAccount, and the agents'
// real end of the protocol. There is no kubelet and no controller but Podesta's.
package envtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/podesta-dev/podesta/controllers"
	"github.com/podesta-dev/podesta/test/manifest"
)

// Patience is how long a test waits for what must happen, on a machine that does much else. Nothing
// waits for it when all is well.
const Patience = 2 * time.Minute

// Root is the source tree, from a folder of a test.
var Root = filepath.Join("..", "..")

var bg = context.Background()

// Server is a running API server.
type Server struct {
	*envtest.Environment

	Dir    string       // for files of the tests; it is removed with the server
	Config *rest.Config // of an administrator
	Kube   client.WithWatch
	Core   *kubernetes.Clientset
}

// Options say what server a test needs.
type Options struct {
	CRDs bool // config/crd is installed
	// ServiceAccounts: the admission plugin ServiceAccount is on, which mounts API tokens, as in every
	// cluster; else pods need no ServiceAccount.
	ServiceAccounts bool
}

// Main runs the tests of a package against a server, and ends the program. Prepare comes first.
func Main(m *testing.M, o Options, prepare func(*Server) error) {
	ctrl.SetLogger(logr.FromSlogHandler(slog.DiscardHandler))
	code, err := run(m, o, prepare)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M, o Options, prepare func(*Server) error) (code int, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, errors.New("KUBEBUILDER_ASSETS is not set: run `make test-envtest`, or set it to a " +
			"directory that holds etcd, kube-apiserver and kubectl: KUBEBUILDER_ASSETS=$(bin/cluster " +
			"assets) go test ./test/…")
	}
	s := &Server{Environment: &envtest.Environment{
		UseExistingCluster:       new(false), // whatever USE_EXISTING_CLUSTER says
		ControlPlaneStartTimeout: Patience,
		ControlPlaneStopTimeout:  Patience,
	}}
	if o.CRDs {
		s.CRDDirectoryPaths = []string{filepath.Join(Root, "config", "crd", "bases")}
		s.ErrorIfCRDPathMissing = true
	}
	if o.ServiceAccounts {
		s.ControlPlane.GetAPIServer().Configure().Disable("disable-admission-plugins")
	}
	if s.Config, err = s.Start(); err != nil {
		return 1, fmt.Errorf("the API server did not start: %w", err)
	}
	defer func() { err = errors.Join(err, s.Stop(), os.RemoveAll(s.Dir)) }()
	if s.Dir, err = os.MkdirTemp("", "envtest-"); err != nil {
		return 1, err
	}
	scheme, err := controllers.NewScheme()
	if err != nil {
		return 1, err
	}
	if s.Kube, err = client.NewWithWatch(s.Config, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	if s.Core, err = kubernetes.NewForConfig(s.Config); err != nil {
		return 1, err
	}
	if err := prepare(s); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// CreateFile creates the objects of a YAML file for which edit returns true.
func (s *Server) CreateFile(path string, edit func(*unstructured.Unstructured) bool) error {
	objects, err := manifest.Read(path)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if !edit(object) {
			continue
		}
		if err := s.Kube.Create(bg, object); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// Watch fills a list with what there is, and returns a watch of what comes after it. A watch alone
// begins with what the API server's cache has, which may be older than what the test has just done.
func (s *Server) Watch(
	t *testing.T, list client.ObjectList, of ...client.ListOption,
) watch.Interface {
	t.Helper()
	Must(t, s.Kube.List(t.Context(), list, of...))
	after := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
	changes, err := s.Kube.Watch(t.Context(), list, append(slices.Clone(of), after)...)
	Must(t, err)
	t.Cleanup(changes.Stop)
	return changes
}

// Must ends the test if there is an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until something holds that no watch tells of.
func Eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(Patience)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %v for %s", Patience, what)
		}
	}
}
