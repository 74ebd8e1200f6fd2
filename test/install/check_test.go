package install

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck runs `kubectl election check` on what dist/install.yaml has installed: as an
// administrator, and as somebody with no rights. There is no kubelet and no manager here, which the
// command must say.
func TestCheck(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "kubectl-election")
	_, err := run(withoutC(exec.Command("go", "build", "-o", program, root+"/cmd/kubectl-election")))
	must(t, err)
	check := func(arguments ...string) string {
		command := exec.CommandContext(t.Context(), program, append([]string{"check", "--kubeconfig", kubeconfig}, arguments...)...)
		command.Env = append(os.Environ(), "HOME="+folder)
		out, err := command.CombinedOutput()
		t.Logf("%s\n%s(%v)", strings.Join(command.Args[1:], " "), out, err)
		return string(out)
	}
	says := func(out string, lines ...string) {
		t.Helper()
		for _, line := range lines {
			if !strings.Contains(out, line) {
				t.Errorf("it does not say: %s", line)
			}
		}
	}
	says(check(),
		"√ electiongroups.podesta.dev is defined\n",
		"√ the definition has the fields that this program knows, and no others\n",
		"× the manager's replicas are ready: 0 of 2 are\n",
		"√ the manager has its rights\n",
		"√ the policies of the installation deny what they should\n",
		"× a node can run the manager and agents: none of the 0 nodes",
		" failed\n", "kubectl election: a check has failed")
	says(check("--pre"), "√ you may install Podesta\n")
	says(check("--pre", "--as", "nobody", "--as-group", "system:authenticated"),
		"× you may install Podesta: you lack: create namespaces; ")
	says(check("--as", "nobody", "--as-group", "system:authenticated"),
		"? the manager has its rights: you may not create subjectaccessreviews.authorization.k8s.io\n",
		"? electiongroups.podesta.dev is defined: you may not get crd electiongroups.podesta.dev\n")
}
