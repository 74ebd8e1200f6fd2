package manager

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/podesta-dev/podesta/controllers"
	"github.com/podesta-dev/podesta/test/envtest"
	"github.com/podesta-dev/podesta/test/scrape"
)

// ours reports whether a family is Podesta's own, not of a library.
func ours(name string) bool { return strings.HasPrefix(name, "podesta_") }

// ofController are the families of the library that the page names one by one.
var ofController = []string{
	"controller_runtime_reconcile_total", "controller_runtime_reconcile_errors_total",
	"controller_runtime_reconcile_time_seconds", "workqueue_depth",
	"workqueue_queue_duration_seconds", "rest_client_requests_total",
	"leader_election_master_status",
}

// scraped is what a manager exposes, its own and what controller-runtime adds, which must be
// faultless.
func scraped(t *testing.T, registry *prometheus.Registry) scrape.Families {
	t.Helper()
	families, err := prometheus.Gatherers{registry, metrics.Registry}.Gather()
	must(t, err)
	text := &bytes.Buffer{}
	encoder := expfmt.NewEncoder(text, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, family := range families {
		must(t, encoder.Encode(family))
	}
	parsed, err := scrape.Parse(text.Bytes())
	must(t, err)
	said, err := scrape.Lint(text.Bytes(), func(string) bool { return false })
	if err != nil || len(said) > 0 {
		t.Errorf("promtool check metrics says: %v, %v", said, err)
	}
	return parsed
}

// of is the value of a gauge or counter of the group in a namespace, and whether there is one.
func of(families scrape.Families, name, namespace string) (value float64, found bool) {
	for _, m := range families[name].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "namespace" && l.GetValue() == namespace {
				return m.GetGauge().GetValue() + m.GetCounter().GetValue(), true
			}
		}
	}
	return 0, false
}

// A manager exposes what the page says, before and after an election; no series goes but the name
// of the coordinator; and a group that is deleted takes its own with it.
func TestMetrics(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(envtest.Root, "docs", "reference", "metrics.md"))
	must(t, err)
	registry := prometheus.NewRegistry()
	m := startManager(t, "", func(o *controllers.Options) { o.Registry = registry })
	namespace, p := voting(t, m, 3)
	is := func(what string, wanted map[string]float64) scrape.Families {
		t.Helper()
		var families scrape.Families
		eventually(t, what, func() bool {
			families = scraped(t, registry)
			for name, want := range wanted {
				if got, found := of(families, name, namespace); !found || got != want {
					return false
				}
			}
			return true
		})
		return families
	}
	before := is("a group without a coordinator", map[string]float64{
		"podesta_group_has_coordinator":     0,
		"podesta_group_epoch":               0,
		"podesta_elections_total":           0,
		"podesta_group_processes":           3,
		"podesta_group_processes_connected": 3,
		"podesta_group_voters":              3,
	})
	epoch := groupIn(t, namespace).Status.Roster.Generation<<20 | 1
	hold(epoch, p[2], p[:2]...)
	sees(t, namespace, "scheduler-2 as coordinator", coordinatedBy("scheduler-2", metav1.ConditionTrue))
	after := is("a group with a coordinator", map[string]float64{
		"podesta_group_has_coordinator":    1,
		"podesta_group_coordinator":        1,
		"podesta_group_epoch":              float64(epoch),
		"podesta_elections_total":          1,
		"podesta_group_tolerated_failures": 1,
	})
	if lost := scrape.Lost(before, after, "podesta_group_coordinator"); len(lost) > 0 {
		t.Errorf("series have gone: %v", lost)
	}
	exposed := after.Shapes(func(name string) bool { return ours(name) || slices.Contains(ofController, name) })
	if diff := cmp.Diff(scrape.Documented(string(page), "Of the manager"), exposed); diff != "" {
		t.Errorf("- docs/reference/metrics.md, + what a manager exposes:\n%s", diff)
	}
	for _, certificate := range after["podesta_certificate_expiration_timestamp_seconds"].GetMetric() {
		if certificate.GetGauge().GetValue() <= 0 {
			t.Errorf("no end of the certificate: %v", certificate)
		}
	}
	must(t, kube.Delete(bg, groupIn(t, namespace)))
	eventually(t, "the series of a deleted group gone", func() bool {
		for name, family := range scraped(t, registry) {
			if _, found := of(scrape.Families{name: family}, name, namespace); found {
				return false
			}
		}
		return true
	})
}
