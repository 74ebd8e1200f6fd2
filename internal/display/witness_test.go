package display

import (
	"strings"
	"testing"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// A witness is shown as one, by what the roster records, also while nothing reports that it is no
// candidate; and it is counted among the voters.
func TestAWitnessIsShownAsOne(t *testing.T) {
	g := &v1.ElectionGroup{}
	g.Name, g.Spec.Safety = "g", v1.Guarded
	g.Status.Coordinator = &v1.CoordinatorStatus{Name: "g-1", Epoch: 1}
	g.Status.Processes = []v1.ProcessStatus{
		{Name: "g-0", Priority: new(int32(1)), State: v1.ProcessNormal, Connected: new(true)},
		{Name: "g-1", Priority: new(int32(2)), State: v1.ProcessCoordinator, Connected: new(true)},
		{Name: "w", Priority: new(int32(0)), State: v1.ProcessUnknown},
	}
	g.Status.Roster = &v1.RosterStatus{Generation: 1, Members: []v1.RosterMember{
		{Name: "g-0", UID: "a", Voter: new(true)},
		{Name: "g-1", UID: "b", Voter: new(true)},
		{Name: "w", UID: "c", Voter: new(true), Witness: new(true)},
	}}
	shown := Of(g, time.Time{})
	w := shown.Processes[2]
	if w.Name != "w" || w.Standing != Standing(v1.NotCandidateWitness) || !w.Witness {
		t.Errorf("it is shown as %+v", w)
	}
	if v := shown.Voters; v.Total != 3 || v.Witnesses != 1 {
		t.Errorf("the voters are %+v", *v)
	}
	// it may vote without the manager, as other voters that do not report
	if may := strings.Join(shown.Next.NotCertain, "; "); !strings.Contains(may, "w does not report") {
		t.Errorf("what is not certain: %q", may)
	}
	why := strings.Join(Explain(g, time.Time{}).Why, " ")
	if !strings.Contains(why, "w is a witness and never coordinates.") {
		t.Errorf("explain says: %s", why)
	}
}
