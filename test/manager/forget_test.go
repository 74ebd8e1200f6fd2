package manager

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	upstream "sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/podesta-dev/podesta/api/v1"
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

// A majority vanishes. The group stands still and says so, until an operator answers for their end.
func TestMajorityLostThenForget(t *testing.T) {
	run := plugin(t)
	m := startManager(t, "")
	namespace, p := voting(t, m, 3)
	hold(77, p[2], p[0], p[1])
	sees(t, namespace, "scheduler-2 under epoch 77", coordinatedUnder("scheduler-2", 77))
	if said, err := run("", "forget", "scheduler", "-n", namespace, "--yes"); err == nil || !strings.Contains(said, "has not lost its majority") {
		t.Errorf("while all is well: %v\n%s", err, said)
	}
	p[1].vanish(t)
	p[2].vanish(t)
	sees(t, namespace, "that it stands still", stalledBy("MajorityLost"))
	if g := groupIn(t, namespace); g.Status.Coordinator != nil || len(voters(g)) != 3 {
		t.Errorf("coordinator %+v, %d voters; want none, and all three", g.Status.Coordinator, len(voters(g)))
	}

	if said, err := run("no\n", "forget", "scheduler", "-n", namespace); err == nil || !strings.Contains(said, "nothing was changed") {
		t.Errorf("without the group's name: %v\n%s", err, said)
	}
	said, err := run("scheduler\n", "forget", "scheduler", "-n", namespace)
	if err != nil || !strings.Contains(said, "scheduler-1") || !strings.Contains(said, "The manager has recorded the request") {
		t.Fatalf("%v\n%s", err, said)
	}
	sees(t, namespace, "scheduler-0 as the only voter", func(g *v1.ElectionGroup) bool {
		return votersAre(p[0])(g) && conditionOf(g, v1.ConditionStalled) == metav1.ConditionFalse
	})
	eventBegins(t, namespace, "VotersForgotten: an operator confirmed that scheduler-1, scheduler-2 have stopped")

	p[1] = join(t, m, newPod(t, namespace, 1, onNode), nil) // and it grows again
	sees(t, namespace, "two voters", votersAre(p[0], p[1]))
}
