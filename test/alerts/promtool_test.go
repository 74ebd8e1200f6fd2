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

// promtool writes the rules to a folder and runs promtool there.
func promtool(t *testing.T, cases string, arguments ...string) (string, error) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not on the PATH: install Prometheus (Debian's package prometheus, or " +
			"https://prometheus.io/download), which has it")
	}
	rules, err := alerts.Read(root)
	if err != nil {
		t.Fatal(err)
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

const casesFile = "test/alerts/testdata/cases.yaml"

// Prometheus reads the rules, and each alert fires when it should, and only then.
func TestCases(t *testing.T) {
	if said, err := promtool(t, "", "check", "rules", "--lint=all", "--lint-fatal", "rules.yaml"); err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, said)
	}
	if said, err := promtool(t, read(t, casesFile), "test", "rules", "cases.yaml"); err != nil {
		t.Errorf("promtool test rules: %v\n%s", err, said)
	}
}

// Each alert fires in some case, and a case that is wrong is noticed: promtool tests ALERTS.
func TestEveryAlertHasACase(t *testing.T) {
	cases := read(t, casesFile)
	fires := regexp.MustCompile(`ALERTS\{alertname="(\w+)", alertstate="firing"`)
	fired := map[string]bool{}
	for _, found := range fires.FindAllStringSubmatch(cases, -1) {
		fired[found[1]] = true
	}
	for _, name := range names(t) {
		if !fired[name] {
			t.Errorf("%s fires in no case of %s", name, casesFile)
		}
	}
	for name := range fired {
		if !slices.Contains(names(t), name) {
			t.Errorf("%s has %s, which is no alert", casesFile, name)
		}
	}
	wrong := strings.Replace(cases, `alertname="PodestaManagerAbsent"`, `alertname="Another"`, 1)
	if said, err := promtool(t, wrong, "test", "rules", "cases.yaml"); err == nil {
		t.Errorf("a case that expects another alert passes: %s", said)
	}
}
