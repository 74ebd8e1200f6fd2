package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/inject"
	"github.com/podesta-dev/podesta/test/stage"
)

// leads is a Deployment of a program that knows nothing of leaders. Two lines make it one that leads:
// the annotation and the command. The program says under which name and epoch it was started.
const leads = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  replicas: 3
  selector: {matchLabels: {podesta.dev/group: %[2]s}}
  template:
    metadata:
      labels: {podesta.dev/group: %[2]s}
      annotations: {podesta.dev/lead: app}
    spec:
      containers:
      - name: app
        image: slow
        command: [/podesta/bin/lead, --, sh, -c, 'echo "$PODESTA_NAME $PODESTA_EPOCH" >%[3]s; exec sleep 1000']
`

// A program runs in one pod of a Deployment, and in another one when that pod is deleted or the
// Deployment rolls.
func TestLead(t *testing.T) {
	t.Parallel()
	g := newGroup(t, "lead")
	started := filepath.Join(t.TempDir(), "started")
	g.must(syscall.Mkfifo(started, 0o600))
	pipe, err := os.OpenFile(started, os.O_RDWR, 0) // so that it has no end while nobody writes
	g.must(err)
	t.Cleanup(func() { _ = pipe.Close() })
	g.must(pipe.SetReadDeadline(time.Now().Add(4 * patience)))
	lines := bufio.NewReader(pipe)

	install, err := inject.NewInstall("", "", "")
	g.must(err)
	text, _, err := inject.Manifests(fmt.Appendf(nil, leads, g.Namespace, g.Group, started), install)
	g.must(err)
	var deployment appsv1.Deployment
	g.must(yaml.UnmarshalStrict(text, &deployment))
	g.must(g.Create(t.Context(), &v1.ElectionGroup{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Group}}))
	g.must(g.Create(t.Context(), &deployment))
	t.Cleanup(func() {
		g.must(g.Delete(context.Background(), &deployment, client.PropagationPolicy(metav1.DeletePropagationForeground)))
	})

	var last string
	var before int64
	// On a busy machine a lease may end, and the same process start the program again.
	next := func(what string) {
		t.Helper()
		name := last
		for name == last {
			var epoch int64
			if _, err := fmt.Fscanln(lines, &name, &epoch); err != nil {
				t.Fatalf("%s: nobody else starts the program: %v", what, err)
			}
			if epoch <= before {
				t.Errorf("%s: %s starts it under epoch %d, after %d", what, name, epoch, before)
			}
			before = epoch
		}
		g.await(name+" as the coordinator", func(eg *v1.ElectionGroup) bool { return stage.Coordinates(eg, name) })
		last = name
	}
	next("the Deployment is made")
	g.rolled(3, nil)
	g.must(g.deletePod(t.Context(), last))
	next("its pod is deleted")
	g.rolled(3, nil)
	old, err := g.Pods(t.Context())
	g.must(err)
	g.must(g.Patch(t.Context(), &deployment, client.RawPatch(types.MergePatchType,
		[]byte(`{"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}}`))))
	next("the Deployment rolls")
	g.rolled(3, old)
}
