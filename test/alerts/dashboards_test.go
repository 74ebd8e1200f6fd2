package alerts_test

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/podesta-dev/podesta/test/alerts"
)

// dashboard is what a query of a dashboard may depend on.
type dashboard struct {
	Templating struct{ List []struct{ Name string } }
	Panels     []struct {
		Title   string
		Targets []struct{ Expr string }
	}
}

var variable = regexp.MustCompile(`\$\{?(\w+)`)

// Every query of a dashboard asks for metrics that are documented, by variables that the dashboard
// has.
func TestQueriesOfDashboards(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "config", "grafana", "*.json"))
	if err != nil || len(files) != 2 {
		t.Fatalf("dashboards %v, %v", files, err)
	}
	known := append(documented(t), "up") // up is Prometheus' own
	for _, file := range files {
		name := filepath.Base(file)
		var d dashboard
		if err := json.Unmarshal([]byte(read(t, "config/grafana/"+name)), &d); err != nil {
			t.Fatal(err)
		}
		variables := []string{"__rate_interval"}
		for _, v := range d.Templating.List {
			variables = append(variables, v.Name)
		}
		for _, panel := range d.Panels {
			for _, target := range panel.Targets {
				for _, metric := range alerts.Metrics(target.Expr) {
					if !slices.Contains(known, metric) {
						t.Errorf("%s, %s: %s is not in docs/reference/metrics.md", name, panel.Title, metric)
					}
				}
				for _, found := range variable.FindAllStringSubmatch(target.Expr, -1) {
					if !slices.Contains(variables, found[1]) {
						t.Errorf("%s, %s: there is no variable %s", name, panel.Title, found[1])
					}
				}
			}
		}
	}
}
