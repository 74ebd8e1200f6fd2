package install

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// dashboards are the ConfigMaps that a sidecar of Grafana loads.
func dashboards(all objects) objects {
	some := maps.Clone(all)
	maps.DeleteFunc(some, func(_ string, object *unstructured.Unstructured) bool {
		return object.GetKind() != "ConfigMap" || object.GetLabels()["grafana_dashboard"] != "1"
	})
	return some
}

// TestDashboards: kustomize and the chart ship the same ones, each in a ConfigMap that the API
// server takes, and the chart none unasked. A sidecar that looks for other labels finds them by
// these.
func TestDashboards(t *testing.T) {
	manifest, err := tool("kustomize", "build", filepath.Join(root, "config", "grafana"))
	must(t, err)
	wanted := parse(t, manifest)
	if got := len(dashboards(wanted)); got != 2 || len(wanted) != got {
		t.Errorf("%d dashboards in %d objects, want two in two", got, len(wanted))
	}
	for name, object := range wanted {
		config := as[corev1.ConfigMap](t, wanted, "ConfigMap", object.GetName())
		if err := kube.Create(t.Context(), config); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, helm := range helms {
		enabled := set("metrics.dashboards.enabled=true")
		compare(t, wanted, dashboards(template(t, helm, append(enabled, "--namespace", system)...)))
		if got := slices.Collect(maps.Keys(dashboards(template(t, helm)))); len(got) > 0 {
			t.Errorf("%s: %v, though nobody asked for it", helm, got)
		}
		mine := template(t, helm, append(enabled, set("metrics.dashboards.labels.mine=yes",
			"metrics.dashboards.annotations.folder=Podesta")...)...)
		fleet := as[corev1.ConfigMap](t, mine, "ConfigMap", "podesta-dashboard-fleet")
		if fleet.Labels["mine"] != "yes" || !cmp.Equal(fleet.Annotations, map[string]string{"folder": "Podesta"}) {
			t.Errorf("%s: labels %v, annotations %v", helm, fleet.Labels, fleet.Annotations)
		}
	}
}

// TestTheAlertsAreOptional: the chart has alerts when asked, with the labels by which a Prometheus
// selects its rules.
func TestTheAlertsAreOptional(t *testing.T) {
	name := key("PrometheusRule", "podesta")
	for _, helm := range helms {
		if template(t, helm)[name] != nil {
			t.Errorf("%s: there are alerts though nobody asked for them", helm)
		}
		rule := template(t, helm, set("metrics.prometheusRule.enabled=true", "metrics.prometheusRule.labels.release=mine")...)[name]
		if rule == nil || rule.GetLabels()["release"] != "mine" {
			t.Errorf("%s: the labels of the alerts are not there", helm)
		}
	}
}
