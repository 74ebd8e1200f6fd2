package alerts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

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
	cases := read(t, casesFile)
	notice := func(name string, edit func(*alerts.Rule)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edited := readRules(t).Edited(edit)
			said, err := promtool(t, edited, cases, "test", "rules", "cases.yaml")
			if err == nil || !strings.Contains(said, "got:") {
				t.Errorf("no case notices it: %s", said)
			}
		})
	}
	for name, bug := range bugs {
		found := false
		for _, rule := range all(t) {
			found = found || strings.Contains(oneLine(rule.Expr), bug[0])
		}
		if !found {
			t.Errorf("%s: no alert has %q", name, bug[0])
		}
		notice(name, func(rule *alerts.Rule) {
			rule.Expr = strings.Replace(oneLine(rule.Expr), bug[0], bug[1], 1)
		})
	}
	for _, rule := range all(t) {
		notice(rule.Alert+": at once", func(edited *alerts.Rule) {
			if edited.Alert == rule.Alert {
				edited.For = ""
			}
		})
	}
}

// oneLine is an expression in one line.
func oneLine(expr string) string { return strings.Join(strings.Fields(expr), " ") }
