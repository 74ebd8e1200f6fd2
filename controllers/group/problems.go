package group

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// Reasons of condition Degraded that are also those of an event.
const (
	reasonTrustNotRestored = "TrustNotRestored"
	reasonForgetIgnored    = "ForgetIgnored"
	reasonStepDownIgnored  = "StepDownIgnored"
	reasonAdoptIgnored     = "AdoptIgnored"
)

// problem is one thing that is wrong with a group.
type problem struct{ reason, message string }

// problems are all that is wrong, the gravest first.
func problems(f findings) []problem {
	missing := names(f.processes, process.neverSeen)
	all := []problem{
		{"ProcessesCrashed", does(f, inState(f.rows, v1.ProcessCrashed), "has", "have", "crashed")},
		{"ProcessesNotAnswering", does(f, inState(f.rows, v1.ProcessNotAnswering), "does", "do",
			"not answer, but may still run")},
		{"ViewsDiffer", differentViews(f)},
		{reasonNotLinked, missingLinks(f)},
		{reasonContainersFailing, failingContainers(f)},
		{reasonAgentMissing, missingAgents(f)},
		{"ProcessesUnknown", does(f, unknown(f.rows, missing), "does", "do",
			"not report to the manager")},
		{"ProcessesMissing", neverThere(missing)},
		{reasonRulesUnsupported, unsupportedAgents(f)},
		{reasonPodsMislabelled, f.strays},
		{reasonTrustNotRestored, f.trust},
		{reasonForgetIgnored, f.step.forgetIgnored},
		{reasonStepDownIgnored, f.step.stepDownIgnored},
		{reasonAdoptIgnored, f.step.adoptIgnored},
		{reasonWitnessRefused, refusedWitnesses(f)},
		{reasonWitnessWanted, wantsWitness(f)},
		{reasonPriorityDefaulted, defaultedPriorities(f)},
		{reasonTimingAdjusted, adjustedTiming(f.group)},
	}
	return slices.DeleteFunc(all, func(p problem) bool { return p.message == "" })
}

// does says what processes do, in the singular or plural; empty: there are none.
func does(f findings, who []string, one, many, what string) string {
	if len(who) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s %s", withTrouble(who, f.processes), plural(len(who), one, many), what)
}

func differentViews(f findings) string {
	if f.choice.views <= 1 {
		return ""
	}
	return fmt.Sprintf("the processes that report name %d different coordinators", f.choice.views)
}

func failingContainers(f findings) string {
	if len(f.failing) == 0 {
		return ""
	}
	return "containers fail in " + strings.Join(f.failing, ", ")
}

// unknown are the processes that have pods with agents, and do not report.
func unknown(rows []v1.ProcessStatus, missing []string) (all []string) {
	for _, row := range rows {
		if row.State == v1.ProcessUnknown && row.Agent != v1.AgentMissing &&
			!slices.Contains(missing, row.Name) {
			all = append(all, row.Name)
		}
	}
	return all
}

func neverThere(missing []string) string {
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("the spec names %s, and there has been no such pod", enumerate(missing))
}

// problemEvents tells of problems that only a person can solve, once, as long as their messages
// stay the same. One without a message does not exist.
func problemEvents(was v1.ElectionGroupStatus, all ...problem) []notification {
	var events []notification
	told := meta.FindStatusCondition(was.Conditions, v1.ConditionDegraded)
	for _, p := range all {
		if p.message == "" || told != nil && strings.Contains(told.Message, p.message) {
			continue
		}
		events = append(events,
			notification{corev1.EventTypeWarning, p.reason, "Observe", p.message})
	}
	return events
}
