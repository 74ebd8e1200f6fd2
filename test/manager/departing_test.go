package manager

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// demoted: on the roster of three that a process hears, scheduler-2 has priority 0, is the same
// voter, and all else is as it was.
func demoted(u roster.Update) bool {
	if u.Roster == nil || len(u.Roster.Processes) != 3 {
		return false
	}
	p := u.Roster.Processes
	return p[0].Priority == 1 && p[1].Priority == 2 && p[2].Priority == 0 && p[2].Voter
}

// The coordinator's pod is told to end, and its agent does not know it yet: a sidecar is the last
// to be told. The roster says that it never coordinates, the status shows its own priority, and the
// roster stays like that however long it takes.
func TestHandOverBeginsWithTheDeletion(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 3)
	hold(77, p[2], p[0], p[1])
	sees(t, namespace, "scheduler-2 under epoch 77", coordinatedUnder("scheduler-2", 77))
	labelled(t, namespace, "scheduler-2")
	steps := watchSteps(t, namespace)
	must(t, kube.Delete(bg, p[2].Pod, client.GracePeriodSeconds(600)))
	for _, q := range p {
		q.Hears(t, "that scheduler-2 never coordinates again", demoted)
	}
	after := shown(t, namespace, p[2]) // what was told to all has been published by then
	if !coordinatedUnder("scheduler-2", 77)(after) || *after.Status.Processes[2].Priority != 3 ||
		conditionOf(after, v1.ConditionReconciling) != metav1.ConditionFalse {
		t.Errorf("want scheduler-2 with its own priority, still the coordinator: %+v", after.Status)
	}
	generation := after.Status.Roster.Generation

	hold(78, p[1], p[0], p[2])
	sees(t, namespace, "scheduler-1 under epoch 78", coordinatedUnder("scheduler-1", 78))
	labelled(t, namespace, "scheduler-1")
	if r := groupIn(t, namespace).Status.Roster; r.Generation != generation || !votersAre(p...)(groupIn(t, namespace)) {
		t.Errorf("the roster moved from generation %d to %d; members %+v", generation, r.Generation, r.Members)
	}
	p[2].Stop()
	p[2].terminated(t, "Running")
	must(t, kube.Delete(bg, p[2].Pod, client.GracePeriodSeconds(0)))
	sees(t, namespace, "two voters", votersAre(p[0], p[1]))
	steps.areSmall(t, p[2])
	var generations []int64
	for _, r := range steps.all(t) {
		if !slices.Contains(generations, r.Generation) {
			generations = append(generations, r.Generation)
		}
	}
	// Before, on its way out, gone (it has no address then), no voter any more.
	if len(generations) < 3 || len(generations) > 4 {
		t.Errorf("for one pod that went, the roster had generations %v", generations)
	}
}

func TestHandOverInAClassicGroup(t *testing.T) {
	m := startManager(t, "")
	namespace := newNamespace(t)
	newGroup(t, namespace)
	var p []*process
	for i := range 3 {
		p = append(p, join(t, m, newPod(t, namespace, i, onNode), nil))
	}
	for _, q := range p {
		q.Hears(t, "a roster of three that have joined", func(u roster.Update) bool {
			return u.Roster != nil && len(u.Roster.Processes) == 3 && !slices.ContainsFunc(u.Roster.Processes,
				func(p roster.Process) bool { return !p.Voter })
		})
	}
	elect("scheduler-2/1/1", p[2], p[:2])
	labelled(t, namespace, "scheduler-2")
	must(t, kube.Delete(bg, p[2].Pod, client.GracePeriodSeconds(600)))
	p[0].Hears(t, "that scheduler-2 never coordinates again", demoted)
	elect("scheduler-1/1/1", p[1], []*process{p[0], p[2]})
	labelled(t, namespace, "scheduler-1")
	if got, want := table(groupIn(t, namespace)), "scheduler-0:Normal scheduler-1:Coordinator scheduler-2:Normal"; got != want {
		t.Errorf("table %q, want %q", got, want)
	}
}

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

// All agents fall silent, and the coordinator's pod is told to end: nothing says that it has ended,
// but no traffic is for it any more.
func TestRoleLeavesADepartingPodThoughNobodyReports(t *testing.T) {
	m := startManager(t, "")
	namespace, p := voting(t, m, 3)
	hold(77, p[2], p[0], p[1])
	labelled(t, namespace, "scheduler-2")
	for _, q := range p {
		q.Stop()
	}
	must(t, kube.Delete(bg, p[2].Pod, client.GracePeriodSeconds(600)))
	unlabelled(t, namespace)
}
