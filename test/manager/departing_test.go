package manager

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The coordinator's node dies: its agent is silent, and its pod hangs in Terminating as nobody
// there ends it. The label comes off it all the same, and before the next one gets it.
func TestRoleLeavesAPodOnADeadNode(t *testing.T) {
	for _, test := range []struct {
		name string
		dies func(*testing.T, *process)
	}{
		{"silent", func(_ *testing.T, p *process) { p.Stop() }},
		{"hanging in Terminating", func(t *testing.T, p *process) {
			p.Stop()
			must(t, kube.Delete(bg, p.Pod, client.GracePeriodSeconds(1)))
		}},
		{"called Failed", func(t *testing.T, p *process) {
			p.Stop()
			p.Pod.Status.Phase = "Failed"
			must(t, kube.Status().Patch(bg, p.Pod, client.RawPatch(client.Merge.Type(), []byte(`{"status":{"phase":"Failed"}}`))))
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := startManager(t, "")
			namespace, p := voting(t, m, 3)
			hold(77, p[2], p[0], p[1])
			labelled(t, namespace, "scheduler-2")
			m.writes.reset()
			test.dies(t, p[2])
			hold(78, p[1], p[0])
			sees(t, namespace, "scheduler-1 under epoch 78", coordinatedUnder("scheduler-1", 78))
			labelled(t, namespace, "scheduler-1")
			var pods []string
			for _, w := range m.writes.in(namespace) {
				if strings.Contains(w, "pods/") {
					pods = append(pods, w)
				}
			}
			if want := []string{"PATCH pods/scheduler-2 podesta-role", "PATCH pods/scheduler-1 podesta-role"}; !slices.Equal(pods, want) {
				t.Errorf("writes to pods %q, want %q", pods, want)
			}
		})
	}
}
