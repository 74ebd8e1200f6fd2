package controllers

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// facts are what conditions are made of.
type facts struct {
	group     *v1.ElectionGroup
	processes []process
	rows      []v1.ProcessStatus
	choice    choice
	lagging   int            // connected processes that do not use the persisted roster yet
	step      rosterDecision // what was decided about the roster
	service   seenService
	version   string // of this manager
}

// conditionsOf says all conditions anew, each with a reason and a sentence. A condition whose status has not changed keeps
// the time of its last transition.
func conditionsOf(f facts, published []metav1.Condition, now time.Time) []metav1.Condition {
	elected, stalled := electedCondition(f), stalledCondition(f)
	conditions := slices.Clone(published)
	for _, c := range []metav1.Condition{
		readyCondition(elected, stalled), elected, degradedCondition(f), reconcilingCondition(f, elected, stalled), stalled,
	} {
		c.ObservedGeneration = f.group.Generation
		c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
		meta.SetStatusCondition(&conditions, c)
	}
	return conditions
}

func condition(kind string, status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

func electedCondition(f facts) metav1.Condition {
	const kind = v1.ConditionCoordinatorElected
	c := f.choice
	switch {
	case len(names(f.processes, func(p process) bool { return p.member })) == 0 && c.voters == 0:
		return condition(kind, metav1.ConditionFalse, "NoProcesses", "no live pod carries the label %s=%s", v1.GroupLabel,
			f.group.Name)
	case c.elected() && guarded(f.group):
		return condition(kind, metav1.ConditionTrue, "Elected", "a majority of the voters follows %s%s", c.name,
			underEpoch(c.epoch))
	case c.elected() && c.followers == c.reporters: // no numbers here: they would change as agents come back to a new manager
		return condition(kind, metav1.ConditionTrue, "Elected", "every process that reports follows %s", c.name)
	case c.elected():
		return condition(kind, metav1.ConditionTrue, "Elected", "%s is followed by %d of the %d processes that report",
			c.name, c.followers, c.reporters)
	case c.reporters == 0 && c.name != "":
		return condition(kind, metav1.ConditionUnknown, "NoReports",
			"no process reports to the manager; %s coordinated when last seen", c.name)
	case c.reporters == 0:
		return condition(kind, metav1.ConditionUnknown, "NoReports",
			"no process has reported to the manager: see that the pods run the agent (container %s)", v1.AgentContainer)
	case noCandidate(f):
		return condition(kind, metav1.ConditionFalse, "NoCandidate",
			"every process has priority 0, and none of that priority ever coordinates")
	case guarded(f.group):
		return guardedCondition(c)
	case c.views > 1:
		return condition(kind, metav1.ConditionFalse, "ViewsDiffer",
			"the %d processes that report name %d different coordinators", c.reporters, c.views)
	case c.name != "":
		return condition(kind, metav1.ConditionFalse, "Electing",
			"%s says that it coordinates, %d of the %d processes that report follow it", c.name, c.followers, c.reporters)
	default:
		return condition(kind, metav1.ConditionFalse, "Electing", "none of the %d processes that report coordinates",
			c.reporters)
	}
}

// readyCondition: a coordinator is elected, and the status speaks of the present spec (it always does when it is written).
func readyCondition(elected, stalled metav1.Condition) metav1.Condition {
	c := elected
	if stalled.Status == metav1.ConditionTrue {
		c = stalled
		c.Status = metav1.ConditionFalse
	}
	c.Type = v1.ConditionReady
	return c
}

// degradedCondition tells, of a Guarded group, also how many voters it can lose.
func degradedCondition(f facts) metav1.Condition {
	c := unwellCondition(f)
	if guarded(f.group) && f.choice.voters > 0 {
		c.Message += "; " + survival(f.choice.voters)
	}
	return c
}

func unwellCondition(f facts) metav1.Condition {
	const kind = v1.ConditionDegraded
	c := condition(kind, metav1.ConditionFalse, "AllWell", "all %d processes run and agree", len(f.rows))
	if len(f.rows) == 0 {
		c = condition(kind, metav1.ConditionFalse, "NoProcesses", "there are no processes")
	}
	for i, ill := range complaints(f) {
		if i == 0 {
			c = condition(kind, metav1.ConditionTrue, ill.reason, "%s", ill.sentence)
		} else {
			c.Message += "; " + ill.sentence
		}
	}
	if sentence := outdatedAgents(f); sentence != "" { // nothing is degraded by it
		c.Message += "; " + sentence
	}
	return c
}

func reconcilingCondition(f facts, elected, stalled metav1.Condition) metav1.Condition {
	const kind = v1.ConditionReconciling
	switch {
	case stalled.Status == metav1.ConditionTrue:
		return condition(kind, metav1.ConditionFalse, stalled.Reason, "nothing can be done before a user acts")
	case f.lagging > 0:
		return condition(kind, metav1.ConditionTrue, "RosterSpreading",
			"%d of the %d processes that report do not use the newest roster yet", f.lagging, f.choice.reporters)
	case f.step.pending > 0:
		return condition(kind, metav1.ConditionTrue, "VotersChanging",
			"%d processes are to become voters, or to be one no more, a step after the other", f.step.pending)
	case elected.Status != metav1.ConditionTrue && elected.Reason != "NoProcesses":
		return condition(kind, metav1.ConditionTrue, elected.Reason, "%s", elected.Message)
	default:
		return condition(kind, metav1.ConditionFalse, "Settled", "nothing is under way")
	}
}

func stalledCondition(f facts) metav1.Condition {
	const kind = v1.ConditionStalled
	service := serviceCondition(f.group, f.service)
	switch {
	case f.step.stalled != "":
		return condition(kind, metav1.ConditionTrue, "TooManyProcesses", "%s", f.step.stalled)
	case len(f.step.lost) > 0:
		return condition(kind, metav1.ConditionTrue, "MajorityLost", "%s", lostSentence(f))
	case noCandidate(f):
		return condition(kind, metav1.ConditionTrue, "NoCandidate",
			"every process has priority 0: give one a higher priority in spec.processes or spec.priority")
	case service != nil:
		return *service
	default:
		return condition(kind, metav1.ConditionFalse, "Progressing", "no user has to act")
	}
}

// noCandidate: there are processes, and none of them may ever coordinate.
func noCandidate(f facts) bool {
	members := names(f.processes, func(p process) bool { return p.member })
	candidates := names(f.processes, func(p process) bool { return p.member && p.priority > 0 })
	return len(members) > 0 && len(candidates) == 0
}

func names(all []process, want func(process) bool) []string {
	var some []string
	for _, p := range all {
		if want(p) {
			some = append(some, p.name)
		}
	}
	return some
}

func inState(rows []v1.ProcessStatus, state v1.ProcessState) []string {
	var some []string
	for _, row := range rows {
		if row.State == state {
			some = append(some, row.Name)
		}
	}
	return some
}
