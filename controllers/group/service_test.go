package group

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

func TestServiceStep(t *testing.T) {
	wants := func(s *scene) {
		s.group.Spec.Service = &v1.CoordinatorService{
			Ports: []v1.CoordinatorPort{{Port: 80, Protocol: v1.TCP}},
		}
	}
	ours := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "g-coordinator", UID: "service"},
	}
	going := ours.DeepCopy()
	going.DeletionTimestamp = &metav1.Time{Time: noon}
	for _, test := range []struct {
		name string
		asks bool
		seen seenService
		want string
	}{
		{"none asked for, none there", false, seenService{}, "nothing"},
		{"none asked for, somebody else's there", false, seenService{foreign: "theirs"}, "nothing"},
		{"none asked for, ours there", false, seenService{ours: ours}, "remove"},
		{"none there", true, seenService{}, "make"},
		{"somebody else's there", true, seenService{foreign: "theirs"}, "nothing"},
		{"ours there, nothing applied to it", true, seenService{ours: ours}, "apply to this very one"},
		{"ours on its way out", true, seenService{ours: going}, "nothing"},
		{"refused a moment ago", true, seenService{refused: refusal{message: "no", at: noon.Add(-retryRefused + 1)}}, "nothing"},
		{"refused a while ago", true, seenService{refused: refusal{message: "no", at: noon.Add(-retryRefused)}}, "make"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScene(0)
			if test.asks {
				wants(s)
			}
			s.service = test.seen
			step := decideService(s.observation)
			if step.err != nil {
				t.Fatal(step.err)
			}
			got := "nothing"
			switch {
			case step.remove != nil:
				got = "remove"
			case step.apply != nil && step.apply.UID == nil:
				got = "make"
			case step.apply != nil && *step.apply.UID == "service":
				got = "apply to this very one"
			}
			if got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// A Service that a group cannot have stalls it, and is looked for again; its coordinator is as well
// elected as before.
func TestServiceTroubleIsTold(t *testing.T) {
	for reason, seen := range map[string]seenService{
		"ServiceNameTaken": {foreign: "nothing owns it"}, "ServiceRefused": {refused: refusal{message: "no", at: noon}},
	} {
		s := newScene(3).sees("p-2", 0, 1, 2).published()
		s.group.Spec.Service, s.service = &v1.CoordinatorService{}, seen
		v := decideStatus(s.observation, decideRoster(s.observation))
		want := "Ready=False/" + reason + " CoordinatorElected=True/Elected Degraded=False/AllWell Reconciling=False/" + reason +
			" Stalled=True/" + reason
		if got := conditionsIn(v); got != want || v.recheck != retryRefused {
			t.Errorf("got  %s, again in %v\nwant %s, again in %v", got, v.recheck, want,
				30*time.Second)
		}
		if got := tell(stalledEvents(s.observation.published, v.status)); got != reason+" "+v.status.Conditions[4].Message {
			t.Errorf("event %q", got)
		}
		if got := stalledEvents(v.status, v.status); got != nil {
			t.Errorf("told again: %q", tell(got))
		}
	}
}
