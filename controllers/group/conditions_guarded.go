package group

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/membership"
)

// guardedCondition returns why a Guarded group of which some processes report has no coordinator.
func guardedCondition(f findings) metav1.Condition {
	c := f.choice
	no := func(reason, format string, args ...any) metav1.Condition {
		return condition(
			v1.ConditionCoordinatorElected,
			metav1.ConditionFalse,
			reason,
			format,
			args...)
	}
	needed, withdrawn := membership.Majority(c.voters), allWithdrawn(f)
	switch {
	case c.voters == 0:
		return no("NoVoters",
			"there are no voters yet. The first ones are chosen when all healthy pods have "+
				"joined, or %v after the first one; later if agents still use a roster that this "+
				"status has lost", membership.FoundWithin)
	case c.present < needed:
		return no("NoMajority", "%d of the %d voters report to the manager, and a majority is %d",
			c.present, c.voters, needed)
	case c.ended != "":
		return no("LeaseRunning",
			"%s is no longer the coordinator. Its lease must expire before another process may act",
			c.ended)
	case c.stale:
		return no("StaleViews",
			"the voters report a lower epoch than the one published before, so it is not shown")
	case c.waiting > 0:
		return no("LeaseRunning",
			"%d of the %d voters that report wait for the lease of the last coordinator to expire",
			c.waiting, c.present)
	case c.views > 1:
		return no("ViewsDiffer",
			"the %d processes that report name %d different coordinators, and no majority of the "+
				"voters names the same one", c.reporters, c.views)
	case withdrawn != "": // before the next one: a process that is no candidate need not ask again
		return no("NoCandidate", "%s", withdrawn)
	case c.present-c.alone < needed:
		return no("NoMajority",
			"%d of the %d voters that report cannot reach a majority of the %d voters", c.alone,
			c.present, c.voters)
	default:
		return no("Electing", "no majority of the %d voters follows a coordinator yet", c.voters)
	}
}

// lostMajority describes which voters are missing for a majority (MC7 in internal/membership), and
// what can be done. Those whose pods exist may be a majority among themselves, and the manager may
// be cut off from them together with the others: nobody is to be told that they are gone, and
// forget them.
func lostMajority(f findings) string {
	replaced := f.step.replaced
	silent, gone := without(f.step.silent, replaced), without(f.step.lost, f.step.silent)
	var parts []string
	if len(silent) > 0 {
		parts = append(parts, fmt.Sprintf("%s %s not report to the manager but may still be acting",
			enumerate(silent), plural(len(silent), "does", "do")))
	}
	if len(replaced) > 0 {
		parts = append(parts, fmt.Sprintf("%s came back with %s, so an earlier agent of %s may still "+
			"be acting on another machine", enumerate(replaced),
			plural(len(replaced), "another state directory", "other state directories"),
			plural(len(replaced), "it", "each")))
	}
	if len(gone) > 0 {
		parts = append(parts, fmt.Sprintf("%s %s gone, but nothing confirms that %s ended",
			enumerate(gone), plural(len(gone), "is", "are"),
			plural(len(gone), "it has", "they have")))
	}
	lost := fmt.Sprintf("%s. Without them there is no majority of the %d voters",
		strings.Join(parts, "; "), f.choice.voters)
	forget := fmt.Sprintf("kubectl election forget %s -n %s", f.group.Name, f.group.Namespace)
	if len(silent) > 0 {
		return fmt.Sprintf(
			"%s. Find out why they do not report. Run %s only for processes that have certainly "+
				"ended", lost, forget)
	}
	if len(replaced) > 0 {
		return fmt.Sprintf("%s. Make sure that no machine still runs that their nodes had before, "+
			"then run %s", lost, forget)
	}
	return fmt.Sprintf(
		"%s, so no process may act until they are back or their certificates have expired (30 "+
			"hours after their pods were found missing). Make sure that none of them is still running, "+
			"then run %s",
		lost, forget)
}

// without returns those names that are not among the others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names),
		func(name string) bool { return slices.Contains(others, name) })
}

// survival describes how many voters of n the group can lose now, when so many of them report. An
// even number survives no more than the odd one below it.
func survival(n, reporting int) string {
	tolerated, majority := lease.Tolerates(n), membership.Majority(n)
	switch {
	case reporting < majority:
		return fmt.Sprintf("%d of the %d voters report, and a majority is %d", reporting, n, majority)
	case reporting < n && reporting == majority:
		return fmt.Sprintf("%d of the %d voters report, and the group can lose none of them",
			reporting, n)
	case reporting < n:
		return fmt.Sprintf("%d of the %d voters report, and the group can lose %d of them", reporting,
			n, reporting-majority)
	case n == 1:
		return "the only voter acts alone, and the group cannot lose it"
	case n == 2:
		return "the group can lose none of its 2 voters; with 3 it could lose 1"
	case n%2 == 0:
		return fmt.Sprintf(
			"the group can lose %d of its %d voters, as with %d; with %d it could lose %d",
			tolerated, n, n-1, n+1, tolerated+1)
	default:
		return fmt.Sprintf("the group can lose %d of its %d voters", tolerated, n)
	}
}
