package alerts_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/podesta-dev/podesta/test/alerts"
)

const casesFile = "test/alerts/testdata/cases.yaml"

// promtool writes rules and cases to a folder and runs promtool there.
func promtool(t *testing.T, rules alerts.Rules, cases string, arguments ...string) (string, error) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not on the PATH: install Prometheus (Debian's package prometheus, or " +
			"https://prometheus.io/download), which has it")
	}
	content, err := rules.File()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, content := range map[string]string{"rules.yaml": string(content), "cases.yaml": cases} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(program, arguments...)
	command.Dir = folder
	said, err := command.CombinedOutput()
	return string(said), err
}

func readRules(t *testing.T) alerts.Rules {
	t.Helper()
	rules, err := alerts.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// Prometheus reads the rules, and each alert fires when it should, and only then.
func TestCases(t *testing.T) {
	rules := readRules(t)
	if said, err := promtool(t, rules, "", "check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"); err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, said)
	}
	if said, err := promtool(t, rules, read(t, casesFile), "test", "rules", "cases.yaml"); err != nil {
		t.Errorf("promtool test rules: %v\n%s", err, said)
	}
}

// Each alert fires in some case, and no case expects another one.
func TestEveryAlertHasACase(t *testing.T) {
	var fired []string
	for _, found := range regexp.MustCompile(`ALERTS\{alertname="(\w+)", alertstate="firing"`).FindAllStringSubmatch(read(t, casesFile), -1) {
		fired = append(fired, found[1])
	}
	slices.Sort(fired)
	if fired = slices.Compact(fired); !slices.Equal(fired, names(t)) {
		t.Errorf("in %s these fire:\n%v\nwant all alerts:\n%v", casesFile, fired, names(t))
	}
}

// bugs are mistakes in the rules: what is there, and what is there instead.
var bugs = map[string][2]string{
	"NoCoordinator: not of the manager":       {"max by (namespace, group) (podesta_group_has_coordinator) == 0", "vector(1) == 0"},
	"NoCoordinator: not of the agents":        {"or max by (namespace, group) (podesta_agent_has_coordinator) == 0", ""},
	"NoCoordinator: of a group without pods":  {"unless max by (namespace, group) (podesta_group_processes) == 0", ""},
	"NoCoordinator: if one agent has none":    {"max by (namespace, group) (podesta_agent_has", "min by (namespace, group) (podesta_agent_has"},
	"TwoCoordinators: counts all processes":   {"sum by (namespace, group)", "count by (namespace, group)"},
	"TwoCoordinators: of Guarded groups, too": {`{safety="Classic"}`, ""},
	"TwoCoordinators: in two groups":          {"sum by (namespace, group)", "sum by (namespace)"},
	"Flapping: not of the manager":            {"podesta_elections_total[15m]", "podesta_no_total[15m]"},
	"Flapping: not of the agents":             {"podesta_agent_coordinator_changes_total[15m]", "podesta_no_total[15m]"},
	"Flapping: in a rolling restart":          {"podesta_elections_total[15m])) > 5", "podesta_elections_total[15m])) > 3"},
	"NoFailureTolerated: as anybody sees it":  {"podesta_agent_is_coordinator == 1 and", "podesta_agent_is_coordinator >= 0 and"},
	"NoFailureTolerated: of one process":      {"and podesta_agent_processes > 2", ""},
	"NoFailureTolerated: of two voters":       {"and max by (namespace, group) (podesta_group_processes) > 2", ""},
	"NoFailureTolerated: not of the manager":  {"(podesta_group_tolerated_failures) == 0", "(podesta_group_tolerated_failures) < 0"},
	"NoFailureTolerated: not of who hangs":    {"(podesta_group_voters) / 2) <= 1", "(podesta_group_voters) / 2) < 1"},
	"NoFailureTolerated: of four of five":     {"(podesta_group_voters) / 2) <= 1", "(podesta_group_voters) / 2) <= 2"},
	"NoFailureTolerated: of one voter":        {"and max by (namespace, group) (podesta_group_voters) > 2", ""},
	"CertificateEndsSoon: without one":        {"(podesta_agent_certificate_expiration_timestamp_seconds > 0)", "podesta_agent_certificate_expiration_timestamp_seconds"},
	"CertificateEndsSoon: without a CA":       {`{certificate="ca"} > 0`, `{certificate="ca"} >= 0`},
	"CertificateEndsSoon: the CA's too late":  {"< 30 * 86400", "< 6 * 3600"},
	"CertificateEndsSoon: the CA's only":      {`{certificate!="ca"}`, `{certificate="none"}`},
	"CertificateEndsSoon: too late":           {"< 6 * 3600", "< 5 * 3600"},
	"ManagerAbsent: a group of its name":      {`, group=""`, ""},
	"ManagerAbsent: one that does not lead":   {`group=""} == 1`, `group=""}`},
}

// Whatever is wrong with an expression, or with how long an alert waits, some case notices.
func TestMistakesAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("promtool runs all cases for each mistake")
	}
	notice := func(name string, of alerts.Rule, edit func(*alerts.Rule)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edited := readRules(t).Edited(edit)
			said, err := promtool(t, edited, casesOf(t, of), "test", "rules", "cases.yaml")
			if err == nil || !strings.Contains(said, "got:") {
				t.Errorf("no case notices it: %s", said)
			}
		})
	}
	for name, bug := range bugs {
		i := slices.IndexFunc(all(t), func(rule alerts.Rule) bool { return strings.Contains(oneLine(rule.Expr), bug[0]) })
		if i < 0 {
			t.Errorf("%s: no alert has %q", name, bug[0])
			continue
		}
		notice(name, all(t)[i], func(rule *alerts.Rule) {
			rule.Expr = strings.Replace(oneLine(rule.Expr), bug[0], bug[1], 1)
		})
	}
	for _, rule := range all(t) {
		notice(rule.Alert+": at once", rule, func(edited *alerts.Rule) {
			if edited.Alert == rule.Alert {
				edited.For = ""
			}
		})
	}
}

// casesOf are the cases with series of a metric that an alert asks for.
func casesOf(t *testing.T, rule alerts.Rule) string {
	t.Helper()
	var file map[string]any
	if err := yaml.Unmarshal([]byte(read(t, casesFile)), &file); err != nil {
		t.Fatal(err)
	}
	var some []any
	for _, one := range file["tests"].([]any) {
		series := fmt.Sprint(one.(map[string]any)["input_series"])
		if slices.ContainsFunc(alerts.Metrics(rule.Expr), func(name string) bool { return strings.Contains(series, name+"{") }) {
			some = append(some, one)
		}
	}
	file["tests"] = some
	text, err := yaml.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// oneLine is an expression in one line.
func oneLine(expr string) string { return strings.Join(strings.Fields(expr), " ") }
