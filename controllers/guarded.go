package controllers

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
)

// guardedCondition says why a Guarded group of which some processes report has no coordinator.
func guardedCondition(c choice) metav1.Condition {
	no := func(reason, format string, args ...any) metav1.Condition {
		return condition(v1.ConditionCoordinatorElected, metav1.ConditionFalse, reason, format, args...)
	}
	switch needed := majority(c.voters); {
	case c.voters == 0:
		return no("NoVoters", "there are no voters yet: the first ones are chosen when all live pods have joined, %v after the first at the latest",
			foundWithin)
	case c.present < needed:
		return no("NoMajority", "%d of the %d voters report, and no fewer than %d make a majority", c.present, c.voters, needed)
	case c.ended != "":
		return no("LeaseRunning", "%s coordinates no more, and the lease that the voters gave it has to run out", c.ended)
	case c.stale:
		return no("StaleViews", "the voters report a lower epoch than was published before: that is not shown")
	case c.waiting > 0:
		return no("LeaseRunning", "%d of the %d voters that report wait until a promise to the last coordinator has run out",
			c.waiting, c.present)
	case c.views > 1:
		return no("ViewsDiffer", "the %d processes that report name %d different coordinators, none of them a majority's",
			c.reporters, c.views)
	case c.present-c.alone < needed:
		return no("NoMajority", "%d of the %d voters that report reach no majority of the %d voters", c.alone, c.present, c.voters)
	default:
		return no("Electing", "no majority of the %d voters follows a coordinator", c.voters)
	}
}

// lostSentence says which voters are missing for a majority (R7), and what can be done. Those whose pods are there may be a majority
// among themselves, and the manager with the others be cut off from them: nobody is to be told that they are gone, and forget them.
func lostSentence(f facts) string {
	var parts []string
	silent := f.step.silent
	if len(silent) > 0 {
		parts = append(parts, fmt.Sprintf("%s %s not report to the manager and may be acting among themselves", enumerate(silent),
			do(len(silent))))
	}
	gone := slices.DeleteFunc(slices.Clone(f.step.lost), func(name string) bool { return slices.Contains(silent, name) })
	if len(gone) > 0 {
		parts = append(parts, fmt.Sprintf("%s %s gone, nothing tells that they have ended", enumerate(gone), be(len(gone))))
	}
	said, forget := strings.Join(parts, "; "), fmt.Sprintf("kubectl election forget %s -n %s", f.group.Name, f.group.Namespace)
	if len(silent) > 0 {
		return fmt.Sprintf("%s: without them there is no majority of the %d voters. See why they do not report; %s is only for "+
			"processes that have certainly ended", said, f.choice.voters, forget)
	}
	return fmt.Sprintf("%s, and without them there is no majority of the %d voters: nobody may act until they are back, or their "+
		"certificates have ended (a day after their pods), or you answer for their end: %s", said, f.choice.voters, forget)
}

// survival says how many voters of n may be lost. An even number survives no more than the odd one below it.
func survival(n int) string {
	tolerated := lease.Tolerates(n)
	switch {
	case n == 0:
		return "there are no voters"
	case n == 1:
		return "the only voter acts alone, and none may be lost"
	case n == 2:
		return "both voters are needed, and none may be lost: three would survive the loss of one"
	case n%2 == 0:
		return fmt.Sprintf("%d of the %d voters may be lost, as of %d; %d would survive the loss of %d", tolerated, n, n-1, n+1,
			tolerated+1)
	default:
		return fmt.Sprintf("%d of the %d voters may be lost", tolerated, n)
	}
}
