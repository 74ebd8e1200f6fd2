package group

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

func TestTrustThatIsNotRestoredIsToldOnce(t *testing.T) {
	s := voting(3)
	s.observation.trust = "the ConfigMap cannot be written"
	toldOnce(t, s, reasonTrustNotRestored, s.observation.trust)
	s.observation.trust = ""
	d := decideStatus(s.observation, decideRoster(s.observation))
	degraded := meta.FindStatusCondition(d.status.Conditions, v1.ConditionDegraded)
	if degraded.Reason == reasonTrustNotRestored || len(d.events) > 0 {
		t.Errorf("it is restored, and condition Degraded is %+v, events %v", degraded, d.events)
	}
}

// toldOnce fails unless a group is Degraded for this reason, and an event says so in the first of
// two passes.
func toldOnce(t *testing.T, s *scene, reason, says string) {
	t.Helper()
	for pass, want := range []int{1, 0} {
		d := decideStatus(s.observation, decideRoster(s.observation))
		degraded := meta.FindStatusCondition(d.status.Conditions, v1.ConditionDegraded)
		if degraded.Reason != reason || !strings.Contains(degraded.Message, says) {
			t.Errorf("condition Degraded is %+v", degraded)
		}
		told := 0
		for _, e := range d.events {
			if e.reason == reason {
				told++
			}
		}
		if told != want {
			t.Errorf("pass %d: told %d times", pass, told)
		}
		s.observation.published = d.status
	}
}
