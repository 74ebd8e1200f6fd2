package group

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// exposed are the series of the groups, with their values, by name and labels.
func exposed(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			name := strings.TrimSuffix(family.GetName()+" "+strings.Join(labels, " "), " ")
			all[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return all
}

// What is published is shown, from 0 on; only the name of the coordinator goes, and with the group
// all that it had.
func TestMetricsOfAGroup(t *testing.T) {
	s := newScene(3)
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry, &Reconciler{}, reading(t, s).Sightings)
	if err != nil {
		t.Fatal(err)
	}
	none := slices.Sorted(maps.Keys(exposed(t, registry)))
	key := client.ObjectKeyFromObject(s.group)
	name := " " + s.group.Name + " " + s.group.Namespace
	var was v1.ElectionGroupStatus
	for _, c := range []struct {
		what  string
		now   v1.ElectionGroupStatus
		wants map[string]float64
	}{
		{"nobody", status("p-1:Normal p-2:Normal"), map[string]float64{"has_coordinator": 0, "changes": 0}},
		{"p-2", status("p-1:Normal p-2:Coordinator"), map[string]float64{"has_coordinator": 1, "changes": 1, "p-2": 1}},
		{"p-2 again", status("p-1:Normal p-2:Coordinator"), map[string]float64{"has_coordinator": 1, "changes": 1, "p-2": 1}},
		{"p-1", status("p-1:Coordinator p-2:Normal"), map[string]float64{"has_coordinator": 1, "changes": 2, "p-1": 1}},
		{"nobody again", status("p-1:Normal p-2:Normal"), map[string]float64{"has_coordinator": 0, "changes": 2}},
	} {
		m.published(s.group, was, c.now)
		was = c.now
		got := map[string]float64{}
		for series, value := range exposed(t, registry) {
			switch {
			case series == "podesta_group_has_coordinator"+name:
				got["has_coordinator"] = value
			case series == "podesta_elections_total"+name:
				got["changes"] = value
			case strings.HasPrefix(series, "podesta_group_coordinator"+name+" "):
				got[strings.TrimPrefix(series, "podesta_group_coordinator"+name+" ")] = value
			}
		}
		if diff := cmp.Diff(c.wants, got); diff != "" {
			t.Errorf("%s: - want, + got:\n%s", c.what, diff)
		}
	}
	m.published(s.group, was, status("p-1:Coordinator p-2:Normal"))
	m.groupDeleted(key)
	if diff := cmp.Diff(none, slices.Sorted(maps.Keys(exposed(t, registry)))); diff != "" {
		t.Errorf("of a deleted group there is:\n%s", diff)
	}
}

func TestWritesAreCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry, &Reconciler{}, reading(t, newScene(3)).Sightings)
	if err != nil {
		t.Fatal(err)
	}
	conflict := apierrors.NewConflict(schema.GroupResource{}, "g", errUnwritten)
	m.wrote(rosterOwner, conflict)
	m.wrote(statusOwner, nil)
	m.wrote(statusOwner, nil)
	m.wrote(statusOwner, errUnwritten)
	all := exposed(t, registry)
	for series, want := range map[string]float64{
		"roster conflict": 1, "roster success": 0, "roster error": 0,
		"status conflict": 0, "status success": 2, "status error": 1,
	} {
		if got, found := all["podesta_status_writes_total "+series]; !found || got != want {
			t.Errorf("%s: %v (%t), want %v", series, got, found, want)
		}
	}
}
