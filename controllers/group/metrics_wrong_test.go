package group

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// shownAsWrong are the reasons of podesta_group_degraded and podesta_group_stalled that are 1; it
// fails unless all others are there with 0.
func shownAsWrong(t *testing.T, registry *prometheus.Registry) []string {
	t.Helper()
	var all []string
	series := 0
	for name, value := range exposed(t, registry) {
		family, labels, _ := strings.Cut(name, " ")
		if family != "podesta_group_degraded" && family != "podesta_group_stalled" {
			continue
		}
		series++
		if value == 1 {
			all = append(all, strings.TrimPrefix(family, "podesta_group_")+labels[strings.LastIndex(labels, " "):])
		}
	}
	if want := len(degradedReasons) + len(stalledReasons); series != want {
		t.Errorf("%d series, want one for each of %d reasons", series, want)
	}
	slices.Sort(all)
	return all
}

// A group's metrics show all that is wrong with it at once, where the reason of condition Degraded
// is the gravest only; what has ended is 0 again; and a deleted group has none.
func TestAllThatIsWrongIsExposed(t *testing.T) {
	well := func() *scene { return newScene(3).sees("p-2", 0, 1, 2).published() }
	crashed := well().loses(0, time.Hour).accuses(1, "p-0")
	crashed.observation.trust = "the ConfigMap cannot be written"
	idle := well()
	idle.group.Spec.Priority = v1.PriorityPolicy{Default: new(int32(0))}
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry, &Reconciler{}, reading(t, well()).Sightings)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what  string
		scene *scene
		wants []string
	}{
		{"nothing", well(), nil},
		{"a crash, and trust", crashed, []string{"degraded ProcessesCrashed", "degraded TrustNotRestored"}},
		{"no candidate", idle, []string{"stalled NoCandidate"}},
		{"nothing again", well(), nil},
	} {
		r := &Reconciler{Client: (&writes{}).client(), Recorder: events.NewFakeRecorder(100), Metrics: m}
		o := c.scene.observation
		next := state{writes: newWriteBudget()}
		if err := r.publishStatus(t.Context(), o, decideStatus(o, decideRoster(o)), &next); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.wants, shownAsWrong(t, registry)); diff != "" {
			t.Errorf("%s: - want, + got:\n%s", c.what, diff)
		}
	}
	m.groupDeleted(client.ObjectKeyFromObject(crashed.group))
	for name := range exposed(t, registry) {
		if strings.HasPrefix(name, "podesta_group_degraded") || strings.HasPrefix(name, "podesta_group_stalled") {
			t.Errorf("of a deleted group there is %s", name)
		}
	}
}
