package group

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
)

// Rules levels: MC11 in internal/membership.

// reasonRulesUnsupported is a reason of condition Degraded.
const reasonRulesUnsupported = "RulesUnsupported"

// unsupportedAgents describes which agents do not support the rules level in force, and what to do
// about it; empty if all do.
func unsupportedAgents(f findings) string {
	r := f.step.record
	if r == nil {
		r = f.step.known
	}
	if r == nil || !guarded(f.group) {
		return ""
	}
	some := names(f.processes, func(p process) bool {
		return p.seen != nil && p.seen.Report.StateID != "" &&
			!lease.Supports(p.seen.Report.Rules, r.Rules)
	})
	if len(some) == 0 {
		return ""
	}
	return fmt.Sprintf("the agents of %s do not support rules level %d, which is in force: %s not "+
		"vote until the level is another one. Bring all pods and the manager to the same release, "+
		"one release at a time (docs/guides/upgrade.md)", enumerate(some), lease.Level(r.Rules),
		plural(len(some), "it does", "they do"))
}

// unsupportedManager returns condition Stalled of a group whose rules level this manager does not
// support; nil if it does.
func unsupportedManager(f findings) *metav1.Condition {
	inForce, newest := f.step.unsupported, lease.Level(f.rules)
	if inForce == 0 {
		return nil
	}
	reason, why := "ManagerOutdated", fmt.Sprintf("supports at most %d. Upgrade the manager again. "+
		"To go back, first bring back the older agents, and then the older manager", newest)
	if inForce < newest {
		reason, why = "ManagerTooNew", fmt.Sprintf("supports none below %d. Install the release "+
			"between the two first", newest-1)
	}
	c := condition(v1.ConditionStalled, metav1.ConditionTrue, reason,
		"the roster is of rules level %d, and this manager %s (docs/guides/upgrade.md). Until then no "+
			"roster is made, so no voter comes or goes; elections go on", inForce, why)
	return &c
}
