// Package install tests an installation on a real API server, as users make it: by kubectl from dist/install.yaml, and by
// Helm 4 and 3 from charts/podesta. What is installed there is then used: the manager's program runs with the rights that it
// was given, and what it must not do is tried. There is no kubelet: the manager's pods are processes of the test.
package install

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/podesta-dev/podesta/controllers"
)

const (
	// system is the namespace of dist/install.yaml, and account the manager's user there.
	system  = "podesta-system"
	account = "system:serviceaccount:" + system + ":podesta-manager"
	// patience is how long a test waits for what must happen.
	patience = time.Minute
)

var (
	root    = filepath.Join("..", "..")
	install = filepath.Join(root, "dist", "install.yaml")
	inject  = filepath.Join(root, "dist", "inject.yaml")

	kubeconfig string       // file, of an administrator
	config     *rest.Config // the same
	kube       client.Client
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.FromSlogHandler(slog.DiscardHandler))
	code, err := runInstalled(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/install:", err)
		code = 1
	}
	os.Exit(code)
}

// runInstalled runs the tests on a cluster that dist/install.yaml was applied to.
func runInstalled(m *testing.M) (code int, err error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return 1, errors.New("KUBEBUILDER_ASSETS is not set: run `make test-envtest`, or set it to a directory that holds " +
			"etcd, kube-apiserver and kubectl: KUBEBUILDER_ASSETS=$(bin/cluster assets) go test ./test/install")
	}
	server := &envtest.Environment{}
	if config, err = server.Start(); err != nil {
		return 1, fmt.Errorf("the API server did not start: %w", err)
	}
	defer func() { err = errors.Join(err, server.Stop()) }()
	file, err := os.CreateTemp("", "kubeconfig")
	if err != nil {
		return 1, err
	}
	kubeconfig = file.Name()
	defer func() { err = errors.Join(err, os.Remove(kubeconfig)) }()
	if _, err := file.Write(server.KubeConfig); err != nil {
		return 1, err
	}
	if err := file.Close(); err != nil {
		return 1, err
	}
	scheme, err := controllers.NewScheme()
	if err != nil {
		return 1, err
	}
	if kube, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	if _, err := kubectl("apply", "--server-side", "--validate=strict", "-f", install); err != nil {
		return 1, err
	}
	return m.Run(), nil
}

// kubectl runs the kubectl that belongs to the API server, as an administrator, and returns what it printed.
func kubectl(arguments ...string) (string, error) {
	program := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	return run(exec.Command(program, append([]string{"--kubeconfig", kubeconfig}, arguments...)...))
}

// tool runs a program of hack/tools/install, built by Go if it is not yet.
func tool(name string, arguments ...string) (string, error) {
	if err := errors.Join(track("charts"), track("config")); err != nil {
		return "", err
	}
	modfile := filepath.Join(root, "hack", "tools", "install", "go.mod")
	return run(exec.Command("go", append([]string{"tool", "-modfile=" + modfile, name}, arguments...)...))
}

// track looks at the files of a folder, which another program is about to read. So Go knows that a test depends on them, and
// does not call an old result cached.
func track(folder string) error {
	return filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		_, err = os.ReadFile(path)
		return err
	})
}

func run(command *exec.Cmd) (string, error) {
	var stderr strings.Builder
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		return string(output), fmt.Errorf("%v: %w\n%s", command, err, &stderr)
	}
	return string(output), nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
