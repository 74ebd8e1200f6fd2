package group

import (
	"fmt"
	"strings"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// remedies are the reasons why a process is no candidate that last until something happens to it,
// with what a person can do. A process that rests is not among them: it tries again by itself.
var remedies = []struct {
	reason v1.NotCandidateReason
	remedy string
}{
	{v1.NotCandidateUnhealthy, "mend the unhealthy apps, or their health check"},
	{v1.NotCandidateNoSession, "have the apps open their sessions with their agents"},
	{v1.NotCandidatePriorityZero, "give a process a priority above 0 in spec.processes or " +
		"spec.priority"},
	{v1.NotCandidateWitness,
		"start another process of the group, because a witness never coordinates"},
	{v1.NotCandidateSteppedDown,
		"wait until the request to step down ends, or remove the annotation " +
			v1.StepDownAnnotation},
	{v1.NotCandidateLeaving, "wait for the pods that replace those that are leaving"},
}

// notCandidate returns why a process that is connected is no candidate, as its row shows it; empty
// if it is one. A reason that this manager does not know is left out.
//
// A rest lasts about a second, and a process that reaches no majority rests again and again. So a
// rest is shown only while there is no coordinator, when the status changes anyway, and it stays
// shown between two rests: what was published last decides that, as with everything that is only
// shown.
func notCandidate(p process, coordinator string) v1.NotCandidateReason {
	const rests = v1.NotCandidateResting
	reason := v1.NotCandidateReason(p.seen.Report.NotCandidate)
	switch {
	case reason == v1.NotCandidatePriorityZero && p.priority > 0 && departing(p.pod):
		return v1.NotCandidateLeaving // agents are told 0 once the deletion has begun
	case reason == v1.NotCandidatePriorityZero && p.priority > 0 && p.aside:
		return v1.NotCandidateSteppedDown // likewise
	case reason == v1.NotCandidatePriorityZero && p.witness:
		return v1.NotCandidateWitness
	case reason == rests && coordinator == "":
		return rests
	case reason == "" && coordinator == "" && p.last != nil && p.last.NotCandidate == rests &&
		p.seen.Report.LeaseState == roster.LeaseNoMajority:
		return rests
	case remedyOf(reason) == "":
		return ""
	default:
		return reason
	}
}

// allWithdrawn describes why no process that reports is a candidate, and what to do about it; empty
// if one is, or may be within seconds.
func allWithdrawn(f findings) string {
	var who, what []string
	found := map[v1.NotCandidateReason]bool{}
	for i, p := range f.processes {
		if !p.connected() {
			continue
		}
		reason := f.rows[i].NotCandidate
		if remedyOf(reason) == "" {
			return ""
		}
		who, found[reason] = append(who, fmt.Sprintf("%s (%s)", p.name, reason)), true
	}
	for _, r := range remedies {
		if found[r.reason] {
			what = append(what, r.remedy)
		}
	}
	if len(who) == 0 {
		return ""
	}
	return fmt.Sprintf("no process that reports is a candidate: %s. To have one elected, %s",
		enumerate(who), strings.Join(what, "; or "))
}

// remedyOf returns what a person can do about a reason; empty for all others.
func remedyOf(reason v1.NotCandidateReason) string {
	for _, r := range remedies {
		if r.reason == reason {
			return r.remedy
		}
	}
	return ""
}
