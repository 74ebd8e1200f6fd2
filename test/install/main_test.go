// Package install tests an installation on a real API server, as users make it: by kubectl from
// dist/install.yaml, and by Helm 4 and 3 from charts/podesta. What is installed there is then used:
// the manager's program runs with the rights that it was given, and what it must not do is tried.
// There is no kubelet: the manager's pods are processes of the test.
package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/podesta-dev/podesta/test/envtest"
	"github.com/podesta-dev/podesta/test/flood"
)

// system is the namespace of dist/install.yaml, and account the manager's user there.
const (
	system  = "podesta-system"
	account = "system:serviceaccount:" + system + ":podesta-manager"
)

const patience = envtest.Patience

var (
	must    = envtest.Must
	root    = envtest.Root
	install = filepath.Join(root, "dist", "install.yaml")
	inject  = filepath.Join(root, "dist", "inject.yaml")

	kubeconfig string       // file, of an administrator
	config     *rest.Config // the same
	kube       client.Client
	server     *envtest.Server
)

func TestMain(m *testing.M) {
	if flood.Attacker() {
		return
	}
	envtest.Main(m, envtest.Options{}, installManifest)
}

// installManifest applies dist/install.yaml.
func installManifest(s *envtest.Server) error {
	server, config, kube = s, s.Config, s.Kube
	kubeconfig = filepath.Join(s.Dir, "kubeconfig")
	if err := os.WriteFile(kubeconfig, s.KubeConfig, 0o600); err != nil {
		return err
	}
	_, err := kubectl("apply", "--server-side", "--validate=strict", "-f", install)
	return err
}

// kubectl runs the kubectl that belongs to the API server, as an administrator, and returns what it
// printed.
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
	return run(withoutC(exec.Command("go", append([]string{"tool", "-modfile=" + modfile, name}, arguments...)...)))
}

// withoutC has a go command build as make does. The race detector's tests run with cgo, and with it
// nearly everything would be compiled once more.
func withoutC(command *exec.Cmd) *exec.Cmd {
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	return command
}

// track looks at the files of a folder, which another program is about to read. So Go knows that a
// test depends on them, and does not call an old result cached.
func track(folder string) error {
	return filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() { // the chart's link to config/ is none
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
		return string(output), &runError{command: command.String(), err: err, stderr: stderr.String()}
	}
	return string(output), nil
}

// runError is a program's failure, and what it said.
type runError struct {
	command, stderr string
	err             error
}

func (e *runError) Error() string { return fmt.Sprintf("%s: %v\n%s", e.command, e.err, e.stderr) }
func (e *runError) Unwrap() error { return e.err }
