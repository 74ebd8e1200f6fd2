package group

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// degradedReasons and stalledReasons are all reasons for which these conditions can be True. Each
// has a series of its own from the first published status on, so that an alert sees it begin.
var (
	degradedReasons = []string{
		"ProcessesCrashed", "ProcessesNotAnswering", "ViewsDiffer",
		reasonNotLinked, reasonContainersFailing, reasonAgentMissing, "ProcessesUnknown",
		"ProcessesMissing",
		reasonRulesUnsupported, reasonPodsMislabelled, reasonTrustNotRestored, reasonForgetIgnored,
		reasonStepDownIgnored, reasonAdoptIgnored, reasonWitnessRefused, reasonWitnessWanted,
		reasonPriorityDefaulted,
		reasonTimingAdjusted,
	}
	stalledReasons = []string{
		"StatusSetBack", "ManagerOutdated", "ManagerTooNew", "TooManyProcesses", "MajorityLost",
		"NoCandidate", "RoleLabelRefused", "ServiceNameTaken", "ServiceRefused",
	}
)

// wrong shows what is wrong with a group: every reason for which it is degraded, and condition
// Stalled; nil if it is not True.
func (m *Metrics) wrong(group *v1.ElectionGroup, degraded []string, stalled *metav1.Condition) {
	m.groups.of(client.ObjectKeyFromObject(group), func(f *figures) {
		f.judged, f.degraded, f.stalled = true, degraded, ""
		if stalled != nil {
			f.stalled = stalled.Reason
		}
	})
}
