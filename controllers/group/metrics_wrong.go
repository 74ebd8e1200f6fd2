package group

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// degradedReasons and stalledReasons are all reasons for which these conditions can be True. Each
// has a series of its own from the first published status on, so that an alert sees it begin.
var (
	degradedReasons = []string{
		"ProcessesCrashed", "ViewsDiffer", reasonAgentMissing, "ProcessesUnknown",
		reasonRulesUnsupported, reasonTrustNotRestored, reasonForgetIgnored,
		reasonStepDownIgnored, reasonWitnessRefused, reasonWitnessWanted,
	}
	stalledReasons = []string{
		"StatusSetBack", "ManagerOutdated", "ManagerTooNew", "TooManyProcesses", "MajorityLost",
		"NoCandidate", "ServiceNameTaken", "ServiceRefused",
	}
)

// wrong shows what is wrong with a group: every reason for which it is degraded, and condition
// Stalled; nil if it is not True.
func (m *Metrics) wrong(group *v1.ElectionGroup, degraded []string, stalled *metav1.Condition) {
	for _, reason := range degradedReasons {
		m.degraded.WithLabelValues(group.Namespace, group.Name, reason).
			Set(oneIf(slices.Contains(degraded, reason)))
	}
	for _, reason := range stalledReasons {
		m.stalled.WithLabelValues(group.Namespace, group.Name, reason).
			Set(oneIf(stalled != nil && stalled.Reason == reason))
	}
}

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
