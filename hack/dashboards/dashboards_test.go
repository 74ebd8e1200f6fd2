package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/podesta-dev/podesta/hack/dashboards/grafana"
	"github.com/podesta-dev/podesta/test/alerts"
	"github.com/podesta-dev/podesta/test/scrape"
)

const root = "../.."

// What is committed is what is generated, and nothing else is there.
func TestGenerated(t *testing.T) {
	fresh := t.TempDir()
	if err := run([]string{fresh}); err != nil {
		t.Fatal(err)
	}
	committed, err := filepath.Glob(filepath.Join(root, "config", "grafana", "*.json"))
	if err != nil || len(committed) != len(all()) {
		t.Errorf("%d dashboards are committed, and %d generated: %v", len(committed), len(all()), err)
	}
	for name := range all() {
		want, err := os.ReadFile(filepath.Join(fresh, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, "config", "grafana", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("config/grafana/%s.json is out of date; run make generate:\n%s", name, diff)
		}
	}
}

var variable = regexp.MustCompile(`\$\{?(\w+)`)

// Every query asks for metrics that are documented, by variables that the dashboard has.
func TestQueries(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "reference", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"up"} // Prometheus' own
	for _, heading := range []string{"Of the manager", "Of each agent"} {
		for _, shape := range scrape.Documented(string(page), heading) {
			name, _, _ := strings.Cut(shape, " ")
			known = append(known, name)
		}
	}
	for name, dashboard := range all() {
		variables := []string{"__rate_interval"}
		for _, v := range dashboard.Templating.List {
			variables = append(variables, v.Name)
		}
		for _, panel := range dashboard.Panels {
			for _, target := range panel.Targets {
				for _, metric := range alerts.Metrics(target.Expr) {
					if !slices.Contains(known, strings.TrimSuffix(metric, "_bucket")) {
						t.Errorf("%s, %s: %s is not in docs/reference/metrics.md", name, panel.Title, metric)
					}
				}
				for _, found := range variable.FindAllStringSubmatch(target.Expr, -1) {
					if !slices.Contains(variables, found[1]) {
						t.Errorf("%s, %s: there is no variable %s", name, panel.Title, found[1])
					}
				}
				if strings.Contains(target.Expr, "§") {
					t.Errorf("%s, %s: %s", name, panel.Title, target.Expr)
				}
			}
		}
	}
}

// Panels have numbers and titles of their own, lie within the 24 columns, and none lies on another.
func TestLayout(t *testing.T) {
	for name, dashboard := range all() {
		taken := map[[2]int]string{}
		ids, titles := map[int]bool{}, map[string]bool{}
		for _, p := range dashboard.Panels {
			if ids[p.ID] || titles[p.Title] || p.ID == 0 || len(p.Targets) == 0 {
				t.Errorf("%s: panel %d, %s: its number or title is there twice, or it asks for nothing", name, p.ID, p.Title)
			}
			ids[p.ID], titles[p.Title] = true, true
			if p.GridPos.W < 4 || p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: %s lies at %+v", name, p.Title, p.GridPos)
			}
			for x := range p.GridPos.W {
				for y := range p.GridPos.H {
					cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
					if taken[cell] != "" {
						t.Fatalf("%s: %s lies on %s", name, p.Title, taken[cell])
					}
					taken[cell] = p.Title
				}
			}
		}
	}
}

// The heart of a group's dashboard is a timeline of its processes, and one of its coordinators.
func TestTimelinesOfAGroup(t *testing.T) {
	var timelines []string
	for _, p := range group().Panels {
		if p.Type == grafana.TypeStateTimeline {
			timelines = append(timelines, p.Title)
		}
	}
	if len(timelines) < 2 || timelines[0] != "Processes" || timelines[1] != "Coordinators" {
		t.Errorf("the timelines are %v", timelines)
	}
}
