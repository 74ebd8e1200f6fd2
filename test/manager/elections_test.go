package manager

import (
	"slices"
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

// The coordinator dies while no manager runs. The next one tells how the one that it finds was
// elected; the account of who started that election comes a pass later.
func TestElectionWithoutAManager(t *testing.T) {
	m := startManager(t, "")
	namespace, p := three(t, m)
	m.Stop()
	p[2].Stop()
	elect("scheduler-0/1/1", p[1], p[:1], p[2])
	p[0].Change(func() { p[0].Report.LastElection = nil })
	successor := startManager(t, m.Address, patiently)
	hurry(p[:2])
	seen := sees(t, namespace, "scheduler-1 as coordinator", coordinatedBy("scheduler-1", metav1.ConditionTrue))
	const one = ", >scheduler-2 CoordinatorUnreachable"
	if got, want := electionsOf(seen[len(seen)-1]), "scheduler-2>scheduler-1 "+one; got != want {
		t.Errorf("elections %s, want %s", got, want)
	}
	labelled(t, namespace, "scheduler-1")
	successor.writes.reset()
	elect("scheduler-0/1/1", p[1], p[:1], p[2])
	const all = "scheduler-2>scheduler-1 CoordinatorUnreachable" + one
	sees(t, namespace, "who started it", func(g *v1.ElectionGroup) bool { return electionsOf(g) == all })
	chatter(t, p[:2]...)
	if w := slices.DeleteFunc(successor.writes.in(namespace), func(w string) bool {
		return !strings.Contains(w, "electiongroups")
	}); !slices.Equal(w, []string{shownBy}) {
		t.Errorf("writes %q, want one that completes the election", w)
	}
	if got := electionsOf(groupIn(t, namespace)); got != all {
		t.Errorf("elections %s, want %s", got, all)
	}
}
