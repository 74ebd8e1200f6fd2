package manager

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	upstream "sigs.k8s.io/controller-runtime/pkg/envtest"
)

// plugin builds kubectl-election, and returns it as a user would run it.
func plugin(t *testing.T) func(stdin string, arguments ...string) (string, error) {
	t.Helper()
	command := pluginCommand(t)
	return func(stdin string, arguments ...string) (string, error) {
		var out bytes.Buffer
		c := command(arguments...)
		c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &out
		err := c.Run()
		return out.String(), err
	}
}

// pluginCommand builds kubectl-election, and returns its commands, which find the cluster by a
// kubeconfig.
func pluginCommand(t *testing.T) func(arguments ...string) *exec.Cmd {
	t.Helper()
	folder := t.TempDir()
	binary, kubeconfig := filepath.Join(folder, "kubectl-election"), filepath.Join(folder, "kubeconfig")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../cmd/kubectl-election")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as make builds it, so that little is compiled again
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the plugin: %v\n%s", err, said)
	}
	user, err := server.AddUser(upstream.User{Name: "operator", Groups: []string{"system:masters"}}, nil)
	must(t, err)
	content, err := user.KubeConfig()
	must(t, err)
	must(t, os.WriteFile(kubeconfig, content, 0o600))
	return func(arguments ...string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), binary, arguments...)
		command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		return command
	}
}
