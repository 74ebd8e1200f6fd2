package group

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// findings are what conditions are made of.
type findings struct {
	group     *v1.ElectionGroup
	processes []process
	rows      []v1.ProcessStatus
	choice    choice
	failing   []string       // processes that run beside containers that fail, with the reasons
	reporting int            // voters that report, as the table shows it
	lagging   int            // connected processes that do not use the persisted roster yet
	step      rosterDecision // what was decided about the roster
	service   seenService
	label     string // what the API server refuses about the role label; empty: nothing
	trust     string // why new agents may not know the manager
	strays    string // pods that name no group and are probably meant for this one; empty: none
	version   string // of this manager
	rules     int32  // the newest rules level that it supports
}

// conditionsOf returns all conditions anew, each with a reason and a message. A condition whose
// status has not changed keeps the time of its last transition.
func conditionsOf(f findings, published []metav1.Condition, now time.Time) []metav1.Condition {
	elected, stalled := electedCondition(f), stalledCondition(f)
	conditions := slices.Clone(published)
	for _, c := range []metav1.Condition{
		readyCondition(elected, stalled),
		elected,
		degradedCondition(f),
		reconcilingCondition(f, elected, stalled),
		stalled,
	} {
		c.ObservedGeneration = f.group.Generation
		c.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
		meta.SetStatusCondition(&conditions, c)
	}
	return conditions
}

func condition(kind string, status metav1.ConditionStatus, reason, format string,
	args ...any) metav1.Condition {
	return metav1.Condition{
		Type:    kind,
		Status:  status,
		Reason:  reason,
		Message: fmt.Sprintf(format, args...),
	}
}

func electedCondition(f findings) metav1.Condition {
	const kind = v1.ConditionCoordinatorElected
	c, withdrawn := f.choice, allWithdrawn(f)
	switch {
	case len(names(f.processes, func(p process) bool { return p.member })) == 0 && c.voters == 0:
		return condition(kind, metav1.ConditionFalse, "NoProcesses",
			"no running pod carries the label %s=%s. Add it to the pod template", v1.GroupLabel,
			f.group.Name)
	case c.elected() && guarded(f.group):
		return condition(kind, metav1.ConditionTrue, "Elected",
			"a majority of the voters follows %s%s", c.name, underEpoch(c.epoch))
	case c.elected() && c.followers == c.reporters:
		// No numbers here: they would change as agents come back to a new manager.
		return condition(kind, metav1.ConditionTrue, "Elected",
			"every process that reports follows %s", c.name)
	case c.elected():
		return condition(kind, metav1.ConditionTrue, "Elected",
			"%d of the %d processes that report follow %s", c.followers, c.reporters, c.name)
	case c.reporters == 0 && c.name != "":
		return condition(kind, metav1.ConditionUnknown, "NoReports",
			"no process reports to the manager. %s was the coordinator when processes last "+
				"reported", c.name)
	case c.reporters == 0:
		return condition(kind, metav1.ConditionUnknown, "NoReports",
			"no process has reported to the manager. Check that the pods run the agent "+
				"(container %s)", v1.AgentContainer)
	case noCandidate(f):
		return condition(kind, metav1.ConditionFalse, "NoCandidate",
			"every process has priority 0, so none can become the coordinator")
	case guarded(f.group):
		return guardedCondition(f)
	case c.views > 1:
		return condition(kind, metav1.ConditionFalse, "ViewsDiffer",
			"the %d processes that report name %d different coordinators", c.reporters, c.views)
	case c.name != "":
		return condition(kind, metav1.ConditionFalse, "Electing",
			"%s claims to be the coordinator, but only %d of the %d processes that report follow "+
				"it", c.name, c.followers, c.reporters)
	case withdrawn != "":
		return condition(kind, metav1.ConditionFalse, "NoCandidate", "%s", withdrawn)
	default:
		return condition(kind, metav1.ConditionFalse, "Electing",
			"no process that reports is the coordinator yet")
	}
}

// readyCondition is True if a coordinator is elected, and the status speaks of the present spec (it
// always does when it is written).
func readyCondition(elected, stalled metav1.Condition) metav1.Condition {
	c := elected
	if stalled.Status == metav1.ConditionTrue {
		c = stalled
		c.Status = metav1.ConditionFalse
	}
	c.Type = v1.ConditionReady
	return c
}

// degradedCondition adds, for a Guarded group, how many voters it can lose now.
func degradedCondition(f findings) metav1.Condition {
	c := healthCondition(f)
	if guarded(f.group) && f.choice.voters > 0 {
		c.Message += "; " + survival(f.choice.voters, f.reporting)
	}
	return c
}

func healthCondition(f findings) metav1.Condition {
	const kind = v1.ConditionDegraded
	c := condition(kind, metav1.ConditionFalse, "AllWell", "all %d processes run and agree",
		len(f.rows))
	switch len(f.rows) {
	case 0:
		c = condition(kind, metav1.ConditionFalse, "NoProcesses", "there are no processes")
	case 1:
		c = condition(kind, metav1.ConditionFalse, "AllWell", "the only process runs")
	}
	for i, problem := range problems(f) {
		if i == 0 {
			c = condition(kind, metav1.ConditionTrue, problem.reason, "%s", problem.message)
		} else {
			c.Message += "; " + problem.message
		}
	}
	if message := outdatedAgents(f); message != "" { // nothing is degraded by it
		c.Message += "; " + message
	}
	return c
}

func reconcilingCondition(f findings, elected, stalled metav1.Condition) metav1.Condition {
	const kind = v1.ConditionReconciling
	switch {
	case stalled.Status == metav1.ConditionTrue:
		return condition(kind, metav1.ConditionFalse, stalled.Reason,
			"nothing can be done until a user acts: see condition Stalled")
	case f.step.putOff:
		return condition(kind, metav1.ConditionTrue, "RosterWaiting",
			"a new roster is due, and waits: a group gets one a second when it has had many, and none "+
				"before a manager that has just started has heard from a majority of the voters")
	case f.lagging > 0:
		return condition(kind, metav1.ConditionTrue, "RosterSpreading",
			"%d of the %d processes that report do not use the newest roster yet", f.lagging,
			f.choice.reporters)
	case f.step.pending > 0:
		return condition(kind, metav1.ConditionTrue, "VotersChanging",
			"%d voter %s pending, applied one at a time", f.step.pending,
			plural(f.step.pending, "change", "changes"))
	case elected.Status != metav1.ConditionTrue && elected.Reason != "NoProcesses":
		return condition(kind, metav1.ConditionTrue, elected.Reason, "%s", elected.Message)
	default:
		return condition(kind, metav1.ConditionFalse, "Settled", "nothing is under way")
	}
}

func stalledCondition(f findings) metav1.Condition {
	const kind = v1.ConditionStalled
	service, rules := serviceCondition(f.group, f.service), unsupportedManager(f)
	switch {
	case f.step.setBack != nil:
		return condition(kind, metav1.ConditionTrue, "StatusSetBack", "%s", setBackMessage(f))
	case rules != nil:
		return *rules
	case f.step.stalled != "":
		return condition(kind, metav1.ConditionTrue, "TooManyProcesses", "%s", f.step.stalled)
	case len(f.step.lost) > 0:
		return condition(kind, metav1.ConditionTrue, "MajorityLost", "%s", lostMajority(f))
	case allWitnesses(f):
		return condition(kind, metav1.ConditionTrue, "NoCandidate",
			"every process is a witness, and a witness never coordinates. Start the group's other pods")
	case noCandidate(f):
		return condition(kind, metav1.ConditionTrue, "NoCandidate",
			"every process has priority 0, so none can become the coordinator. Give at least one "+
				"a higher priority in spec.processes or spec.priority")
	case f.label != "":
		return condition(kind, metav1.ConditionTrue, "RoleLabelRefused",
			"%s. So the group's Service may lead to nobody, or to a former coordinator. Change "+
				"what refuses it (a policy for pods). The manager tries again every %v", f.label,
			retryRefused)
	case service != nil:
		return *service
	default:
		return condition(kind, metav1.ConditionFalse, "Progressing", "no action is needed")
	}
}

// noCandidate reports whether there are processes, and none of them may ever coordinate.
func noCandidate(f findings) bool {
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
