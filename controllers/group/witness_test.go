package group

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// marks puts the label of a witness on a pod.
func (s *scene) marks(pod int) *scene {
	s.pods[pod].Labels = map[string]string{v1.WitnessLabel: v1.WitnessTrue}
	return s
}

// unmarks takes it off.
func (s *scene) unmarks(pod int) *scene {
	s.pods[pod].Labels = nil
	return s
}

// witnessing returns a group of two voters that may coordinate, p-0 and p-1, and a witness, p-2.
func witnessing() *scene {
	s := newGuarded(3).marks(2).sees("", 0, 1, 2)
	s.pass()
	s.acknowledge()
	return s
}

// A witness votes, has priority 0, and its row says why it is no candidate: also when its label is
// gone, and to a manager that has just started.
func TestAWitnessIsShown(t *testing.T) {
	s := witnessing()
	s.hinders(roster.NotCandidatePriorityZero, 2)
	s.group.Spec.Processes = []v1.Process{{Name: "p-2", Priority: new(int32(100))}}
	check := func(when string) {
		t.Helper()
		d := decideStatus(s.observation, decideRoster(s.observation))
		row := d.status.Processes[2]
		if *row.Priority != 0 || row.NotCandidate != v1.NotCandidateWitness {
			t.Errorf("%s: priority %d, notCandidate %q", when, *row.Priority, row.NotCandidate)
		}
		if *d.status.ToleratedFailures != 1 || d.status.Running != "3/3" {
			t.Errorf("%s: it tolerates %d failures, %s ready", when, *d.status.ToleratedFailures,
				d.status.Running)
		}
	}
	check("labelled")
	s.unmarks(2)
	check("the label is gone")
	s.membership = newScene(0).membership
	check("another manager")
	if m := decideRoster(s.observation).known.Members[2]; m.Witness == nil || !*m.Witness || !isVoter(m) {
		t.Errorf("the roster has %+v", m)
	}
}

// Only the label's one value makes a witness: any other is an ordinary process.
func TestOtherValuesMakeNoWitness(t *testing.T) {
	s := newGuarded(3)
	s.pods[2].Labels = map[string]string{v1.WitnessLabel: "false"}
	s.sees("", 0, 1, 2)
	if r := s.pass().record; r.Members[2].Witness != nil {
		t.Errorf("the roster has %+v", r.Members[2])
	}
}

// A group wants a witness if it is two voters that may coordinate, and nothing else.
func TestAWitnessIsWanted(t *testing.T) {
	two := func() *scene { return voting(2) }
	for name, test := range map[string]struct {
		scene *scene
		want  bool
	}{
		"two voters": {two(), true},
		"two voters of which one is being deleted": {func() *scene {
			s := two()
			s.pods[0].DeletionTimestamp = &metav1.Time{Time: s.now}
			return s
		}(), true},
		"two voters, and a pod that has finished": {func() *scene {
			s := two()
			s.pods = append(s.pods, newScene(3).pods[2])
			s.pods[2].Status.Phase = corev1.PodSucceeded
			return s
		}(), true},
		"one voter":         {voting(1), false},
		"three voters":      {voting(3), false},
		"with a witness":    {witnessing(), false},
		"without its label": {witnessing().unmarks(2), false},
		"a third pod starts": {func() *scene {
			s := two()
			s.pods = append(s.pods, newScene(3).pods[2])
			return s
		}(), false},
		"the spec names a third": {func() *scene {
			s := two()
			s.group.Spec.Processes = []v1.Process{{Name: "p-7", Priority: new(int32(1))}}
			return s
		}(), false},
		"one of them never coordinates": {func() *scene {
			s := two()
			s.group.Spec.Processes = []v1.Process{{Name: "p-0", Priority: new(int32(0))}}
			return s
		}(), false},
		"a Classic group": {newScene(2).sees("p-1", 0, 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			d := decideStatus(test.scene.observation, decideRoster(test.scene.observation))
			degraded := meta.FindStatusCondition(d.status.Conditions, v1.ConditionDegraded)
			if got := strings.Contains(degraded.Message, "are the only voters"); got != test.want {
				t.Errorf("wanted: %t; %+v", got, degraded)
			}
			command := "kubectl election witness g -n shop | kubectl apply -f -"
			if test.want && !strings.Contains(degraded.Message, command) {
				t.Errorf("it does not say what to do: %s", degraded.Message)
			}
		})
	}
}

// A witness of a Classic group is refused: it does not coordinate, and the condition and one event
// say that it has no use and what to delete. So it is when the label is taken off.
func TestAWitnessIsRefusedInAClassicGroup(t *testing.T) {
	s := newScene(3).marks(2).sees("p-1", 0, 1, 2)
	s.pass()
	s.hinders(roster.NotCandidatePriorityZero, 2)
	toldOnce(t, s, reasonWitnessRefused, "p-2 is marked as a witness (label podesta.dev/witness), and a "+
		"Classic group has no votes: it never coordinates and has no other use. Delete its workload (pod/p-2)")
	s.unmarks(2)
	d := decideStatus(s.observation, decideRoster(s.observation))
	if row := d.status.Processes[2]; *row.Priority != 0 || row.NotCandidate != v1.NotCandidateWitness {
		t.Errorf("the label is gone: %+v", row)
	}
}

// Witnesses alone cannot elect anybody, and no priority in the spec helps.
func TestOnlyWitnesses(t *testing.T) {
	s := newGuarded(1).marks(0).sees("", 0)
	s.pass()
	s.hinders(roster.NotCandidatePriorityZero, 0)
	d := decideStatus(s.observation, decideRoster(s.observation))
	stalled := meta.FindStatusCondition(d.status.Conditions, v1.ConditionStalled)
	if stalled.Reason != "NoCandidate" || !strings.Contains(stalled.Message, "every process is a witness") {
		t.Errorf("condition Stalled is %+v", stalled)
	}
}
