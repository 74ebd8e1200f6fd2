package manager

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// electionsOf is who followed whom, newest first, and why.
func electionsOf(g *v1.ElectionGroup) string {
	var all []string
	for _, e := range g.Status.Elections {
		all = append(all, e.From+">"+e.To+" "+string(e.Reason))
	}
	return strings.Join(all, ", ")
}

// An election is in the status once, whoever the manager is when it is seen, and what is told of it
// later completes it: with one write.
func TestElectionsOutliveTheManager(t *testing.T) {
	m := startManager(t, "")
	namespace, p := three(t, m)
	p[2].Stop()
	elect("scheduler-0/1/1", p[1], p[:1], p[2])
	sees(t, namespace, "scheduler-1 as coordinator", coordinatedBy("scheduler-1", metav1.ConditionTrue))
	labelled(t, namespace, "scheduler-1")
	restartsQuietly(t, m, namespace, p[:2])
	before := groupIn(t, namespace)
	const two = "scheduler-2>scheduler-1 CoordinatorUnreachable, >scheduler-2 CoordinatorUnreachable"
	if got := electionsOf(before); got != two {
		t.Errorf("after a restart the elections are %s, want %s", got, two)
	}
	if !before.Status.Elections[0].At.Equal(&before.Status.Coordinator.Since) {
		t.Errorf("the last election was at %v, the coordinator is since %v", before.Status.Elections[0].At,
			before.Status.Coordinator.Since)
	}
}
