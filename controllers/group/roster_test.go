package group

import (
	"slices"
	"testing"

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
		if got, _ := priorityOf(&spec, name, ""); got != want {
			t.Errorf("%s has priority %d, want %d", name, got, want)
		}
	}
	spec.Priority.From = v1.ReverseOrdinal // a StatefulSet's lowest ordinal first
	for name, want := range map[string]int32{
		"web-1":       100,
		"web-0":       1_000_000,
		"web-41":      999_959,
		"web-999999":  1, // it may coordinate
		"web-1000000": 7,
		"web":         7,
	} {
		if got, _ := priorityOf(&spec, name, ""); got != want {
			t.Errorf("in reverse %s has priority %d, want %d", name, got, want)
		}
	}
	spec.Priority.From = ""
	if got, _ := priorityOf(&spec, "web-0", ""); got != 7 {
		t.Errorf("without from, web-0 has priority %d, want the default", got)
	}
	if got, _ := priorityOf(&v1.ElectionGroupSpec{}, "web-0", ""); got != 1 {
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
