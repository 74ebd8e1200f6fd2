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
	crashed := inState(f.rows, v1.ProcessCrashed)
	missing := names(f.processes, process.neverSeen)
	var unknown []string
	for _, row := range f.rows {
		if row.State == v1.ProcessUnknown && row.Agent != v1.AgentMissing &&
			!slices.Contains(missing, row.Name) {
			unknown = append(unknown, row.Name)
		}
	}
	var all []problem
	if len(crashed) > 0 {
		all = append(all, problem{"ProcessesCrashed", fmt.Sprintf("%s %s crashed",
			withTrouble(crashed, f.processes), plural(len(crashed), "has", "have"))})
	}
	if silent := inState(f.rows, v1.ProcessNotAnswering); len(silent) > 0 {
		all = append(all, problem{"ProcessesNotAnswering",
			fmt.Sprintf("%s %s not answer, but may still run", withTrouble(silent, f.processes),
				plural(len(silent), "does", "do"))})
	}
	if f.choice.views > 1 {
		all = append(all, problem{"ViewsDiffer",
			fmt.Sprintf("the processes that report name %d different coordinators",
				f.choice.views)})
	}
	if message := missingLinks(f); message != "" {
		all = append(all, problem{reasonNotLinked, message})
	}
	if len(f.failing) > 0 {
		all = append(all, problem{reasonContainersFailing,
			"containers fail in " + strings.Join(f.failing, ", ")})
	}
	if message := missingAgents(f); message != "" {
		all = append(all, problem{reasonAgentMissing, message})
	}
	if len(unknown) > 0 {
		all = append(all, problem{"ProcessesUnknown",
			fmt.Sprintf("%s %s not report to the manager", withTrouble(unknown, f.processes),
				plural(len(unknown), "does", "do"))})
	}
	if len(missing) > 0 {
		all = append(all, problem{"ProcessesMissing",
			fmt.Sprintf("the spec names %s, and there has been no such pod", enumerate(missing))})
	}
	if message := unsupportedAgents(f); message != "" {
		all = append(all, problem{reasonRulesUnsupported, message})
	}
	if f.strays != "" {
		all = append(all, problem{reasonPodsMislabelled, f.strays})
	}
	if f.trust != "" {
		all = append(all, problem{reasonTrustNotRestored, f.trust})
	}
	if f.step.forgetIgnored != "" {
		all = append(all, problem{reasonForgetIgnored, f.step.forgetIgnored})
	}
	if f.step.stepDownIgnored != "" {
		all = append(all, problem{reasonStepDownIgnored, f.step.stepDownIgnored})
	}
	if f.step.adoptIgnored != "" {
		all = append(all, problem{reasonAdoptIgnored, f.step.adoptIgnored})
	}
	if message := refusedWitnesses(f); message != "" {
		all = append(all, problem{reasonWitnessRefused, message})
	}
	if message := wantsWitness(f); message != "" {
		all = append(all, problem{reasonWitnessWanted, message})
	}
	if message := defaultedPriorities(f); message != "" {
		all = append(all, problem{reasonPriorityDefaulted, message})
	}
	if message := adjustedTiming(f.group); message != "" {
		all = append(all, problem{reasonTimingAdjusted, message})
	}
	return all
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
