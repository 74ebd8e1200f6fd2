package alerts_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/podesta-dev/podesta/test/alerts"
	"github.com/podesta-dev/podesta/test/scrape"
)

const (
	root     = "../.."
	runbooks = "docs/runbooks"
	base     = "https://github.com/podesta-dev/podesta/blob/main/"
)

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func all(t *testing.T) []alerts.Rule {
	t.Helper()
	rules, err := alerts.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(rules.All()) == 0 {
		t.Fatalf("%s has no alerts", alerts.File)
	}
	return rules.All()
}

// names are the names of all alerts, sorted.
func names(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, rule := range all(t) {
		names = append(names, rule.Alert)
	}
	slices.Sort(names)
	return names
}

// Every alert says what is wrong, how grave it is, and where its runbook is; every runbook has the
// four parts that somebody who was woken up looks for, and there is none without an alert.
func TestEveryAlertHasARunbook(t *testing.T) {
	for _, rule := range all(t) {
		page := runbooks + "/" + rule.Alert + ".md"
		if got := rule.Annotations["runbook_url"]; got != base+page {
			t.Errorf("%s: runbook_url is %q, want %s", rule.Alert, got, base+page)
		}
		for _, annotation := range []string{"summary", "description"} {
			if rule.Annotations[annotation] == "" {
				t.Errorf("%s has no %s", rule.Alert, annotation)
			}
		}
		if severity := rule.Labels["severity"]; severity != "critical" && severity != "warning" {
			t.Errorf("%s: severity is %q, want critical or warning", rule.Alert, severity)
		}
		text := read(t, page)
		if !strings.HasPrefix(text, "# "+rule.Alert+"\n") {
			t.Errorf("%s has another title than %s", page, rule.Alert)
		}
		if diff := cmp.Diff([]string{"Meaning", "Impact", "Diagnosis", "Mitigation"}, headings(text)); diff != "" {
			t.Errorf("%s: - wanted, + its headings:\n%s", page, diff)
		}
	}
	pages, err := filepath.Glob(filepath.Join(root, runbooks, "Podesta*.md"))
	if err != nil || len(pages) != len(all(t)) {
		t.Errorf("%d runbooks for %d alerts, %v", len(pages), len(all(t)), err)
	}
}

func headings(page string) []string {
	var all []string
	for line := range strings.Lines(page) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			all = append(all, strings.TrimSpace(heading))
		}
	}
	return all
}

// The list of runbooks has a row for each alert, with its severity and how long it waits.
func TestTheListOfRunbooks(t *testing.T) {
	page := read(t, runbooks+"/README.md")
	for _, rule := range all(t) {
		row := "| [" + rule.Alert + "](" + rule.Alert + ".md) | " + rule.Labels["severity"] + " | " + rule.For + " |"
		if !strings.Contains(page, row) {
			t.Errorf("%s/README.md has no row %s", runbooks, row)
		}
	}
}

// documented are the names of the metrics that docs/reference/metrics.md lists, with those that
// Prometheus makes of a histogram.
func documented(t *testing.T) []string {
	t.Helper()
	page := read(t, "docs/reference/metrics.md")
	var all []string
	for _, heading := range []string{"Of the manager", "Of each agent"} {
		for _, shape := range scrape.Documented(page, heading) {
			name, rest, _ := strings.Cut(shape, " ")
			all = append(all, name)
			if strings.HasPrefix(rest, "histogram") {
				all = append(all, name+"_bucket", name+"_sum", name+"_count")
			}
		}
	}
	return all
}

func TestEveryMetricIsDocumented(t *testing.T) {
	known := documented(t)
	for _, rule := range all(t) {
		asked := alerts.Metrics(rule.Expr)
		if len(asked) == 0 {
			t.Errorf("%s asks for no metric", rule.Alert)
		}
		for _, name := range asked {
			if !slices.Contains(known, name) {
				t.Errorf("%s asks for %s, which docs/reference/metrics.md does not list", rule.Alert, name)
			}
		}
	}
}

// TestMetrics: names are found where an expression has some, and nothing else is taken for one.
func TestMetrics(t *testing.T) {
	const expr = `sum by (a, b) (rate(one_total{group="two and x", le!='y'}[5m])) / on (c) group_left (d) three offset 5m ` +
		`unless time() - Four > bool 6 * 3600 or absent(one_total{e="f"})`
	if diff := cmp.Diff([]string{"Four", "one_total", "three"}, alerts.Metrics(expr)); diff != "" {
		t.Errorf("- want, + got:\n%s", diff)
	}
}
