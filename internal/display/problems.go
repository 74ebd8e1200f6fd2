package display

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// Problem is something that calls for attention.
type Problem struct {
	// Condition is the condition that tells of it; empty if the table of processes does.
	Condition string `json:"condition,omitempty"`
	Reason    string `json:"reason"`
	// Message is what the manager says.
	Message string `json:"message"`
	// Means and Do are what docs/reference/status.md says of the reason; empty if this version does
	// not know it.
	Means string `json:"means,omitempty"`
	Do    string `json:"do,omitempty"`
}

// Reasons that no condition has.
const (
	reasonNoStatus = "NoStatus"
	reasonNotRead  = "SpecNotRead"
)

// state returns the group's state, and the reason of the condition that says so.
func (s *subject) state() (State, string) {
	elected, stalled := s.condition(v1.ConditionCoordinatorElected), s.condition(v1.ConditionStalled)
	degraded, changing := s.condition(v1.ConditionDegraded), s.condition(v1.ConditionReconciling)
	is := func(c metav1.Condition, status metav1.ConditionStatus) bool { return c.Status == status }
	switch {
	case len(s.group.Status.Conditions) == 0:
		return Unknown, reasonNoStatus
	case s.cannotElect():
		return NoCoordinator, word(stalled.Reason)
	case s.coordinator == nil && is(elected, metav1.ConditionFalse):
		return NoCoordinator, word(elected.Reason)
	case s.coordinator == nil:
		return Unknown, word(elected.Reason)
	case is(elected, metav1.ConditionFalse):
		return Disputed, word(elected.Reason)
	case is(stalled, metav1.ConditionTrue):
		return Stalled, word(stalled.Reason)
	case !is(elected, metav1.ConditionTrue):
		return Unknown, word(elected.Reason)
	case is(degraded, metav1.ConditionTrue):
		return Degraded, word(degraded.Reason)
	case is(changing, metav1.ConditionTrue):
		return Changing, word(changing.Reason)
	case s.specNotRead():
		return Changing, reasonNotRead
	default:
		return Healthy, ""
	}
}

// keepsFromElecting reports whether a group cannot elect if condition Stalled has this reason. Of a
// reason that is not known, it may be so.
func keepsFromElecting(stalled string) bool {
	switch stalled {
	case "StatusSetBack", "ManagerOutdated", "ManagerTooNew", "TooManyProcesses", "RoleLabelRefused",
		"ServiceNameTaken", "ServiceRefused":
		return false
	default:
		return true
	}
}

// condition returns a condition; one without a status if it is not set.
func (s *subject) condition(kind string) metav1.Condition {
	if c := meta.FindStatusCondition(s.group.Status.Conditions, kind); c != nil {
		return *c
	}
	return metav1.Condition{Type: kind}
}

func (s *subject) specNotRead() bool {
	return s.group.Status.ObservedGeneration < s.group.Generation
}

// problems are what calls for attention, the gravest first, each once.
func (s *subject) problems() []Problem {
	if len(s.group.Status.Conditions) == 0 {
		return []Problem{s.problem("", reasonNoStatus, "the manager has written no status")}
	}
	var all []Problem
	for _, wrong := range []struct {
		kind   string
		status metav1.ConditionStatus
	}{
		{v1.ConditionStalled, metav1.ConditionTrue},
		{v1.ConditionCoordinatorElected, metav1.ConditionFalse},
		{v1.ConditionCoordinatorElected, metav1.ConditionUnknown},
		{v1.ConditionDegraded, metav1.ConditionTrue},
		{v1.ConditionReconciling, metav1.ConditionTrue},
	} {
		c := s.condition(wrong.kind)
		if c.Status != wrong.status || wrong.kind == v1.ConditionCoordinatorElected && s.cannotElect() {
			continue
		}
		p := s.problem(c.Type, c.Reason, c.Message)
		told := slices.ContainsFunc(all, func(q Problem) bool {
			return q.Reason == p.Reason && (q.Message == p.Message || wrong.kind == v1.ConditionReconciling)
		})
		if !told {
			all = append(all, p)
		}
	}
	if s.specNotRead() {
		all = append(all, s.problem("", reasonNotRead, "the status describes an earlier spec"))
	}
	if _, reason := s.state(); reason == "NoCandidate" { // it names all that are withdrawn
		return all
	}
	return append(all, s.withdrawn()...)
}

// cannotElect reports whether condition Stalled says why nobody coordinates. Then
// CoordinatorElected has nothing to add.
func (s *subject) cannotElect() bool {
	c := s.condition(v1.ConditionStalled)
	return c.Status == metav1.ConditionTrue && s.coordinator == nil && keepsFromElecting(c.Reason)
}

// withdrawn are the processes that something keeps from being candidates that a person can mend.
func (s *subject) withdrawn() []Problem {
	var all []Problem
	for _, reason := range []v1.NotCandidateReason{v1.NotCandidateUnhealthy,
		v1.NotCandidateNoSession} {
		var who []string
		for _, p := range s.processes {
			if p.Standing == Standing(reason) {
				who = append(who, p.Name)
			}
		}
		if len(who) > 0 {
			all = append(all, s.problem("", string(reason),
				Enumerate(who)+" "+Standing(reason).why(len(who))))
		}
	}
	return all
}

// problem adds what is known of a reason.
func (s *subject) problem(kind, reason, said string) Problem {
	known := s.adviceOn(kind, reason)
	return Problem{
		Condition: kind,
		Reason:    word(reason),
		Message:   message(said),
		Means:     known.means,
		Do:        known.do,
	}
}
