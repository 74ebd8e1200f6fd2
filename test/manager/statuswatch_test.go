package manager

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// `kubectl election status -w` sees what a real API server tells a watch, and ends without an error
// when it is interrupted.
func TestStatusWatch(t *testing.T) {
	command := pluginCommand(t)
	namespace := newNamespace(t)
	newGroup(t, namespace)
	for _, arguments := range [][]string{{"status", "scheduler", "-n", namespace, "-w"}, {"status", "-n", namespace, "-w"}} {
		var notes bytes.Buffer
		watch := command(arguments...)
		watch.Stderr = &notes
		out, err := watch.StdoutPipe()
		must(t, err)
		must(t, watch.Start())
		t.Cleanup(func() { _ = watch.Process.Kill() }) // if it runs on
		lines := bufio.NewScanner(out)
		next := func(want string) {
			t.Helper()
			if !lines.Scan() || !strings.Contains(lines.Text(), want) {
				t.Fatalf("%v: %q, want %q; it notes: %s", arguments, lines.Text(), want, &notes)
			}
		}
		next(namespace + "/scheduler") // what there is
		group := groupIn(t, namespace)
		group.Status.Coordinator = &v1.CoordinatorStatus{Name: "scheduler-0", Priority: new(int32(1)), Since: metav1.NowMicro()}
		must(t, kube.Status().Update(bg, group))
		next("scheduler-0 was last seen to coordinate " + namespace + "/scheduler")
		must(t, kube.Delete(bg, group))
		next("Deleted: group " + namespace + "/scheduler")
		must(t, watch.Process.Signal(os.Interrupt))
		if lines.Scan() {
			t.Errorf("%v: %q after it was interrupted", arguments, lines.Text())
		}
		if err := watch.Wait(); err != nil || notes.Len() > 0 {
			t.Errorf("%v: %v, %s", arguments, err, &notes)
		}
		newGroup(t, namespace)
	}
}
