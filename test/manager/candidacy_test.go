package manager

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

func noCandidate(message string) func(*v1.ElectionGroup) bool {
	return func(g *v1.ElectionGroup) bool {
		c := meta.FindStatusCondition(g.Status.Conditions, v1.ConditionCoordinatorElected)
		return c != nil && c.Reason == "NoCandidate" && strings.Contains(c.Message, message)
	}
}

// A group whose processes have all withdrawn says why each has, and what to do. An agent that gives
// a reason that nobody knows keeps no status from being written.
func TestWithdrawnProcessesAreNamed(t *testing.T) {
	m := startManager(t, "")
	namespace, p := three(t, m)
	withdraw := func(i int, why string) {
		p[i].Change(func() {
			p[i].Report.Electing, p[i].Report.Coordinator, p[i].Report.NotCandidate = true, "", why
		})
	}
	withdraw(0, "AReasonOfANewerAgent")
	withdraw(1, roster.NotCandidateNoSession)
	withdraw(2, roster.NotCandidateUnhealthy)
	seen := sees(t, namespace, "two that have withdrawn", func(g *v1.ElectionGroup) bool {
		rows := g.Status.Processes
		return rows[0].NotCandidate == "" && rows[1].NotCandidate == v1.NotCandidateNoSession &&
			rows[2].NotCandidate == v1.NotCandidateUnhealthy
	})
	if g := seen[len(seen)-1]; noCandidate("")(g) {
		t.Errorf("one may be a candidate: %+v", g.Status.Conditions)
	}
	withdraw(0, roster.NotCandidateUnhealthy)
	sees(t, namespace, "what to do", noCandidate("no process that reports is a candidate: scheduler-0 "+
		"(Unhealthy), scheduler-1 (NoSession), scheduler-2 (Unhealthy). To have one elected, mend the "+
		"unhealthy apps, or their health check; or have the apps open their sessions with their agents"))
	p[0].Stop()
	seen = sees(t, namespace, "one that is not connected", func(g *v1.ElectionGroup) bool {
		return !*g.Status.Processes[0].Connected && g.Status.Processes[0].NotCandidate == ""
	})
	if g := seen[len(seen)-1]; !*g.Status.Processes[1].Connected || !noCandidate("candidate: scheduler-1")(g) {
		t.Errorf("the others are connected, and none is a candidate: %+v", g.Status)
	}
}
