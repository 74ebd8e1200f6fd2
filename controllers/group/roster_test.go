package group

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

func TestPriority(t *testing.T) {
	spec := v1.ElectionGroupSpec{
		Processes: []v1.Process{{Name: "web-1", Priority: new(int32(100))}, {Name: "web-2",
			Priority: new(int32(0))}},
		Priority: v1.PriorityPolicy{Default: new(int32(7)), From: v1.Ordinal},
	}
	for name, want := range map[string]int32{
		"web-1":              100, // named
		"web-2":              0,   // named, and never to coordinate
		"web-0":              1,
		"web-41":             42,
		"web-999999":         1_000_000,
		"web-1000000":        7, // no priority is that high
		"web-99999999999999": 7,
		"web":                7,
		"web1":               7, // no ordinal: StatefulSets put a dash before it
		"7":                  7,
		"web-7b9c-x2z4k":     7,
	} {
		if got := priorityOf(&spec, name); got != want {
			t.Errorf("%s has priority %d, want %d", name, got, want)
		}
	}
	spec.Priority.From = ""
	if got := priorityOf(&spec, "web-0"); got != 7 {
		t.Errorf("without from, web-0 has priority %d, want the default", got)
	}
	if got := priorityOf(&v1.ElectionGroupSpec{}, "web-0"); got != 1 {
		t.Errorf("without anything, web-0 has priority %d, want 1", got)
	}
}

func TestMembers(t *testing.T) {
	s := newScene(5).sees("p-0", 0)
	s.pods[1].Status = corev1.PodStatus{Phase: corev1.PodPending}
	s.pods[2].Status.Phase = corev1.PodFailed
	s.pods[3].Status.Phase = corev1.PodSucceeded
	s.pods[4].Status.PodIP = "fd00::4"
	s.pods[4].Spec.InitContainers = []corev1.Container{{Name: v1.AgentContainer,
		Ports: []corev1.ContainerPort{{Name: "podesta-link", ContainerPort: 7400}}}}
	got := decideRoster(s.observation)
	want := []roster.Process{
		{Name: "p-0", UID: "uid-0", Address: "10.0.0.0:4041", Priority: 1, Voter: true},
		{Name: "p-1", UID: "uid-1", Priority: 2}, // it is coming
		{Name: "p-4", UID: "uid-4", Address: "[fd00::4]:7400", Priority: 5},
	}
	if !slices.Equal(got.roster.Processes, want) {
		t.Errorf("got  %+v\nwant %+v", got.roster.Processes, want)
	}
	if err := got.roster.Validate(); err != nil {
		t.Error(err)
	}
	if m := got.record.Members[0]; m.StateID != "m" || !*m.Voter ||
		got.record.Generation != got.roster.Generation {
		t.Errorf("recorded %+v", m)
	}
}

// A roster gets a new generation when anything that agents must know has changed, and only then:
// also across a restart of the manager, for which the persisted record is all there is.
func TestGenerationGrowsWithEveryChange(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*scene)
		grows  bool
	}{
		{"nothing", func(*scene) {}, false},
		{"the manager restarts and knows no agent yet", func(s *scene) { clear(s.sightings) }, false},
		{"another coordinator", func(s *scene) { s.sees("p-1", 0, 1, 2) }, false},
		{"a subscription is lost", func(s *scene) { s.loses(0, 0) }, false},
		{"an agent's container restarts", func(s *scene) { s.edit(0, func(r *roster.Report) { r.Incarnation++ }) }, false},
		{"an agent lost its memory, on which nothing depends in a Classic group", func(s *scene) {
			s.edit(0, func(r *roster.Report) { r.StateID = "other" })
		}, false},
		{"a pod's address", func(s *scene) { s.pods[0].Status.PodIP = "10.0.0.99" }, true},
		{"a new pod of an old name", func(s *scene) { s.pods[0].UID = "new" }, true},
		{"a pod less", func(s *scene) { s.pods = s.pods[:2] }, true},
		{"a pod is on its way out", func(s *scene) { s.depart(0) }, true},
		{"a pod ends", func(s *scene) { s.pods[0].Status.Phase = corev1.PodFailed }, true},
		{"a priority", func(s *scene) {
			s.group.Spec.Processes = []v1.Process{{Name: "p-0",
				Priority: new(int32(9))}}
		}, true},
		{"a priority of a pod that does not exist", func(s *scene) {
			s.group.Spec.Processes = []v1.Process{{Name: "x",
				Priority: new(int32(9))}}
		}, false},
		{"the algorithm", func(s *scene) { s.group.Spec.Algorithm = v1.ChangRoberts }, true},
		{"the timing", func(s *scene) { s.group.Spec.Timing.TimeoutMilliseconds++ }, true},
		{"too many pods: the last roster stays", func(s *scene) { s.pods = newScene(257).pods }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScene(3).sees("p-2", 0, 1, 2).published()
			last := s.observation.published.Roster.Generation
			s.now = s.now.Add(time.Minute)
			test.change(s)
			d := decideRoster(s.observation)
			if (d.record != nil) != test.grows {
				t.Fatalf("record %+v, want a new one: %v", d.record, test.grows)
			}
			if test.grows && d.record.Generation <= last {
				t.Errorf("generation %d after %d", d.record.Generation, last)
			}
			if !test.grows && d.roster != nil && d.roster.Generation != last {
				t.Errorf("the unchanged roster is told as generation %d, it is %d",
					d.roster.Generation, last)
			}
		})
	}
}

func TestAGroupWithoutPodsHasNoRoster(t *testing.T) {
	if d := decideRoster(newScene(0).observation); d.roster != nil || d.record != nil ||
		d.stalled != "" {
		t.Errorf("got %+v", d)
	}
	emptied := newScene(3).published()
	emptied.pods = nil
	if d := decideRoster(emptied.observation); d.record == nil || len(d.record.Members) != 0 {
		t.Errorf("a group that lost its pods: %+v, want an empty roster", d.record)
	}
}
