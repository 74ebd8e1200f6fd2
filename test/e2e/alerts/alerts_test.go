package alerts

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	promapi "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/podesta-dev/podesta/test/alerts"
)

// fault brings an alert about, and ends it.
type fault struct {
	alert, namespace, group string
	// cause brings the fault about. It returns what is to be done about it, which ends the alert; nil
	// if the alert ends too late for a test to wait for it.
	cause func(t *testing.T) (mitigate func())
	// what `kubectl election status` and `explain` print meanwhile; empty: they cannot tell.
	status, explain string
}

var faults = []fault{
	{"PodestaNoCoordinator", "shop", "billing", noCandidate, "NoCoordinator (NoCandidate)", "every process has priority 0"},
	{"PodestaTwoCoordinators", "shop", "ledger", cutOff, "ViewsDiffer", "ViewsDiffer"},
	{"PodestaFlapping", "shop", "mailer", flaps, "CoordinatorUnreachable", ""},
	{"PodestaNoFailureTolerated", "shop", "stock", oneStandsStill("stock"), "no more may fail", "stock-0"},
	{"PodestaMajorityLost", "shop", "orders", twoAreLost, "MajorityLost", "MajorityLost: Bring the voters back"},
	{"PodestaProcessCrashed", "shop", "router", podIsGone, "ProcessesCrashed", "ProcessesCrashed: Find out why"},
	{"PodestaProcessNotAnswering", "shop", "depot", oneStandsStill("depot"), "NotAnswering", "NotAnswering"},
	{"PodestaAgentMissing", "shop", "search", podWithoutAgent, "AgentMissing", "AgentMissing: Restart the workloads"},
	{"PodestaCertificateEndsSoon", "shop", "edge", shortCertificate, "", ""},
	{"PodestaTrustNotRestored", "warehouse", "cache", trustIsKept, "TrustNotRestored", "TrustNotRestored"},
}

// Each alert fires by its fault, says in plain words which group it is about, and ends when
// somebody has done what its runbook says. Beside them is a group that nothing happens to, of which
// no alert ever fires once it has formed, which may take longer than the hurried rules wait.
func TestAlerts(t *testing.T) {
	newGroup(t, "shop", "scheduler", 3, "Guarded")
	eventually(t, "Prometheus to see that scheduler is well", func() (bool, error) {
		well, err := prom.Query(t.Context(), `
			count(podesta_agent_has_coordinator{group="scheduler"} == 1) == 3
			and on () podesta_group_has_coordinator{group="scheduler"} == 1
			unless on () ALERTS{group="scheduler"}`)
		return len(well) > 0, err
	})
	begun := time.Now()
	t.Run("faults", func(t *testing.T) {
		for _, f := range faults {
			t.Run(f.alert, func(t *testing.T) {
				t.Parallel()
				f.try(t)
			})
		}
	})
	// The manager is for all groups, so its fault comes alone.
	t.Run("PodestaManagerAbsent", managerIsAway)
	for _, fired := range everFired(t, `ALERTS{alertstate="firing", group="scheduler"}`, begun) {
		t.Errorf("of the group that nothing happened to, there was %v from %v on", fired.Metric,
			fired.Values[0].Timestamp.Time())
	}
	all := map[string]bool{"PodestaManagerAbsent": true}
	for _, f := range faults {
		all[f.alert] = true
	}
	rules, err := alerts.Read(root)
	must(t, err)
	for _, rule := range rules.All() {
		if !all[rule.Alert] {
			t.Errorf("no fault fires %s", rule.Alert)
		}
	}
}

func (f fault) try(t *testing.T) {
	mitigate := f.cause(t)
	fires(t, f.alert, f.group)
	f.says(t, "status", f.status)
	f.says(t, "explain", f.explain)
	if mitigate == nil {
		return
	}
	mitigate()
	ended(t, f.alert, f.group)
}

// says waits until a command of kubectl election names the cause.
func (f fault) says(t *testing.T, command, cause string) {
	t.Helper()
	if cause == "" {
		return
	}
	var said string
	eventually(t, "kubectl election "+command+" to say "+cause, func() (bool, error) {
		said = runs(t, "", "kubectl election "+command+" "+f.group+" -n "+f.namespace)
		return strings.Contains(said, cause), nil
	})
	t.Logf("kubectl election %s says:\n%s", command, said)
}

// fires waits until an alert of a group fires; a group of "" is none.
func fires(t *testing.T, alert, group string) {
	t.Helper()
	begun := time.Now()
	var found promapi.Alert
	eventually(t, alert+" of "+group, func() (ok bool, err error) {
		found, ok, err = firing(t.Context(), alert, group)
		return ok, err
	})
	t.Logf("%s fires after %v: %s", alert, time.Since(begun).Round(time.Millisecond), found.Annotations["summary"])
	for name, value := range found.Annotations {
		text := string(value)
		if strings.Contains(text, "<no value>") || strings.Contains(text, "error expanding") || strings.Contains(text, "{{") {
			t.Errorf("%s of %s is %q", name, alert, text)
		}
	}
	if !strings.Contains(string(found.Annotations["summary"]), group) {
		t.Errorf("the summary does not name the group %s: %q", group, found.Annotations["summary"])
	}
}

// ended waits until an alert of a group fires no more.
func ended(t *testing.T, alert, group string) {
	t.Helper()
	eventually(t, "the end of "+alert+" of "+group, func() (bool, error) {
		_, still, err := firing(t.Context(), alert, group)
		return !still, err
	})
}

func firing(ctx context.Context, alert, group string) (promapi.Alert, bool, error) {
	all, err := prom.Firing(ctx)
	for _, a := range all {
		if a.Labels["alertname"] == model.LabelValue(alert) && a.Labels["group"] == model.LabelValue(group) {
			return a, true, err
		}
	}
	return promapi.Alert{}, false, err
}

// everFired are the series of an expression since an instant.
func everFired(t *testing.T, expr string, since time.Time) model.Matrix {
	t.Helper()
	all, err := prom.Range(t.Context(), expr, since, time.Now(), every)
	must(t, err)
	return all
}

// runbook returns the line of an alert's runbook that begins with a text, with other names in it:
// what a test does is what the page says.
func runbook(t *testing.T, alert, begins string, replace ...string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs", "runbooks", alert+".md"))
	must(t, err)
	_, mitigation, _ := strings.Cut(string(page), "\n## Mitigation\n")
	for line := range strings.Lines(mitigation) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, begins) {
			return strings.NewReplacer(replace...).Replace(line)
		}
	}
	t.Fatalf("the runbook of %s has no line %s … under Mitigation", alert, begins)
	return ""
}
