package group

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
)

// byLabel derives priorities from a label that has one value of interest. The default is 7.
func byLabel(key, value string, priority int32) v1.PriorityPolicy {
	return v1.PriorityPolicy{
		Default: new(int32(7)),
		From:    v1.Label,
		Key:     key,
		Values:  []v1.LabelPriority{{Value: value, Priority: &priority}},
	}
}

// labelled puts a label on a pod.
func (s *scene) labelled(pod int, key, value string) *scene {
	s.pods[pod].Labels = map[string]string{key: value}
	return s
}

func TestPriorityByLabel(t *testing.T) {
	spec := v1.ElectionGroupSpec{
		Processes: []v1.Process{{Name: "named", Priority: new(int32(100))}},
		Priority:  byLabel("zone", "a", 9),
	}
	spec.Priority.Values = append(spec.Priority.Values,
		v1.LabelPriority{Value: "never", Priority: new(int32(0))})
	for _, test := range []struct {
		name, label string
		want        int32
		fallback    bool
	}{
		{"web", "zone=a", 9, false},
		{"web", "zone=never", 0, false},
		{"web", "zone=b", 7, true},
		{"web", "zone=", 7, true},
		{"web", "zone", 7, true},
		{"web", "", 7, true},
		{"web-3", "zone=b", 7, true}, // its ordinal does not count
		{"named", "zone=a", 100, false},
		{"named", "zone", 100, false},
	} {
		got, fallback := priorityOf(&spec, test.name, test.label)
		if got != test.want || fallback != test.fallback {
			t.Errorf("%s (%s) has priority %d, fallback %v", test.name, test.label, got, fallback)
		}
	}
}

// The label of a process counts as it is when the process joins. A voter keeps what the roster
// records, also under the next manager; the spec decides what that is worth.
func TestLabelsAreReadWhenAProcessJoins(t *testing.T) {
	for name, begin := range map[string]func() *scene{
		"Guarded": func() *scene { return newGuarded(3) },
		"Classic": func() *scene { return newScene(3) },
	} {
		t.Run(name, func(t *testing.T) {
			s := begin()
			s.group.Spec.Priority = byLabel("zone", "a", 9)
			wants := func(when string, want int32) {
				t.Helper()
				d := s.pass()
				s.acknowledge()
				if got := d.roster.Processes[0].Priority; got != want {
					t.Errorf("%s: agents are told %d, want %d", when, got, want)
				}
				row := decideStatus(s.observation, decideRoster(s.observation)).status.Processes[0]
				if *row.Priority != want {
					t.Errorf("%s: the status shows %d, want %d", when, *row.Priority, want)
				}
			}
			wants("without the label", 7)
			s.labelled(0, "zone", "a")
			wants("labelled before it joins", 9)
			s.sees("", 0, 1, 2)
			wants("joined", 9)
			if m := member(s, "p-0"); !isVoter(*m) || m.PriorityLabel != "zone=a" {
				t.Errorf("the roster has %+v", m)
			}
			if m := member(s, "p-1"); m.PriorityLabel != "zone" {
				t.Errorf("of a pod without the label the roster has %+v", m)
			}
			s.labelled(0, "zone", "b")
			wants("relabelled", 9)
			s.pods[0].Labels = nil
			wants("without its label", 9)
			s.membership = membership.State{}
			wants("under the next manager", 9)
			s.group.Spec.Priority.Values[0].Priority = new(int32(8))
			wants("the value is worth less", 8)
			s.labelled(0, "pool", "a")
			s.group.Spec.Priority.Key = "pool"
			wants("another key", 8)
			s.labelled(0, "pool", "b")
			wants("whose label changes", 8)
			s.group.Spec.Priority.From = v1.Ordinal
			wants("by ordinal", 1)
			s.group.Spec.Priority.From = v1.Label
			wants("and by label again", 7)
		})
	}
}

// A new pod of an old name is read anew. A voter whose pod is gone is shown as the roster has it.
func TestLabelsOfPodsThatComeAndGo(t *testing.T) {
	s := newGuarded(3).labelled(2, "zone", "a").sees("", 0, 1, 2)
	s.group.Spec.Priority = byLabel("zone", "a", 9)
	s.pass()
	s.acknowledge()
	gone := s.pods[2]
	s.pods = s.pods[:2]
	row := decideStatus(s.observation, decideRoster(s.observation)).status.Processes[2]
	if *row.Priority != 9 {
		t.Errorf("a voter without a pod is shown with priority %d", *row.Priority)
	}
	again := gone.DeepCopy()
	again.UID, again.Labels = "another", nil
	s.pods = append(s.pods, again)
	if got := podFact(again, &s.group.Spec, recorded(s.observation.published.Roster, again)); got.Priority != 7 {
		t.Errorf("a new pod has priority %d", got.Priority)
	}
}

// Condition Degraded names the processes that the spec's source gives no priority, and what to do.
func TestDefaultedPrioritiesAreShown(t *testing.T) {
	labels := func(edit func(*scene)) *scene {
		s := newGuarded(3).labelled(0, "zone", "a").labelled(1, "zone", "a").labelled(2, "zone", "a")
		s.group.Spec.Priority = byLabel("zone", "a", 9)
		edit(s)
		return s
	}
	deployment := func(from v1.PrioritySource, pods int) *scene {
		s := newGuarded(pods)
		for _, pod := range s.pods {
			pod.Name = "web-7b9c-" + strings.Replace(pod.Name, "-", "x", 1) + "z"
		}
		s.group.Spec.Priority.From = from
		return s
	}
	for name, test := range map[string]struct {
		scene *scene
		want  string // empty: the condition says nothing of priorities
	}{
		"all listed": {labels(func(*scene) {}), ""},
		"missing and unknown": {labels(func(s *scene) { s.labelled(0, "app", "a").labelled(2, "zone", "c") }),
			"p-0 (no label zone), p-2 (zone=c) have the default priority 7, because spec.priority.from is Label"},
		"named by the spec": {labels(func(s *scene) {
			s.labelled(0, "app", "a")
			s.group.Spec.Processes = []v1.Process{{Name: "p-0", Priority: new(int32(1))}}
		}), ""},
		"a witness":        {labels(func(s *scene) { s.marks(2) }), ""},
		"by ordinal":       {newGuarded(3), ""},
		"no source":        {deployment("", 3), ""},
		"no ordinal":       {deployment(v1.Ordinal, 1), "web-7b9c-px0z has the default priority 1, because spec.priority.from is Ordinal and its name does not end in an ordinal"},
		"nor in reverse":   {deployment(v1.ReverseOrdinal, 1), "because spec.priority.from is ReverseOrdinal and its name does"},
		"many are counted": {deployment(v1.Ordinal, 7), "web-7b9c-px4z and 2 more have the default"},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.scene
			check := func(want string) {
				t.Helper()
				c := meta.FindStatusCondition(decideStatus(s.observation,
					decideRoster(s.observation)).status.Conditions, v1.ConditionDegraded)
				if want == "" && strings.Contains(c.Message, "default priority") ||
					!strings.Contains(c.Message, want) {
					t.Errorf("%s: %s; want %q", c.Reason, c.Message, want)
				}
				if want != "" && (c.Reason != reasonPriorityDefaulted || c.Status != metav1.ConditionTrue) {
					t.Errorf("the condition is %s, %s", c.Status, c.Reason)
				}
			}
			check("") // nobody has joined: labels may be on their way
			for i := range s.pods {
				s.sees("", i)
			}
			s.pass()
			s.acknowledge()
			check(test.want)
		})
	}
}
