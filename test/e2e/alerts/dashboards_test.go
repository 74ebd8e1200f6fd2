package alerts

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// phase is a part of what happens to the group, between two instants.
type phase struct {
	name        string
	begin, over time.Time
}

// Every query of every panel returns data while a group's coordinator is killed, paused and cut
// off: in each of these parts. What asks for nothing but trouble returns data when somebody has
// then misconfigured the group.
func TestDashboards(t *testing.T) {
	g, cuts := newCutGroup(t, "shop", "checkout", 5, v1.Guarded)
	begun := time.Now()
	var phases []phase
	during := func(name string, do func()) {
		p := phase{name: name, begin: time.Now()}
		do()
		scraped(t, g)
		p.over = time.Now()
		phases = append(phases, p)
	}
	highest := g.pod(4)
	scraped(t, g)
	during("kill", func() { g.signal(highest, syscall.SIGKILL); g.another(highest); g.coordinates(highest) })
	during("pause", func() {
		g.signal(highest, syscall.SIGSTOP)
		g.another(highest)
		shows(t, fmt.Sprintf("max_over_time(up{pod=%q}[3s]) == 0", highest))
		g.signal(highest, syscall.SIGCONT)
		g.coordinates(highest)
	})
	during("cut", func() {
		cuts.isolate(highest)
		shows(t, fmt.Sprintf("podesta_group_coordinator{group=%q, pod=%q} == 1", g.Group, g.another(highest)))
		shows(t, fmt.Sprintf("max_over_time(podesta_agent_has_coordinator{pod=%q}[3s]) == 0", highest))
		cuts.heal()
		g.coordinates(highest)
	})
	during(misconfigured, func() { misconfigure(g) })
	shows(t, fmt.Sprintf("min_over_time(podesta_group_has_coordinator{group=%q}[3s]) == 1", g.Group))
	files, err := filepath.Glob(filepath.Join(root, "config", "grafana", "*.json"))
	must(t, err)
	if len(files) == 0 {
		t.Fatal("there are no dashboards")
	}
	for _, file := range files {
		show(t, file, begun, phases)
	}
}

// misconfigured is the part in which trouble is asked for.
const misconfigured = "misconfigured"

// misconfigure gives all processes priority 0, and names one that does not exist, for a while:
// nobody coordinates, and the group is stalled and degraded.
func misconfigure(g *group) {
	g.t.Helper()
	var right []v1.Process
	g.edit(func(s *v1.ElectionGroupSpec) {
		right = slices.Clone(s.Processes)
		s.Processes = append(s.Processes, v1.Process{Name: g.pod(9)})
		for i := range s.Processes {
			s.Processes[i].Priority = new(int32(0))
		}
	})
	g.await("that it is stalled and degraded", func(eg *v1.ElectionGroup) bool {
		return meta.IsStatusConditionTrue(eg.Status.Conditions, v1.ConditionStalled) &&
			meta.IsStatusConditionTrue(eg.Status.Conditions, v1.ConditionDegraded)
	})
	for _, family := range []string{"podesta_group_stalled", "podesta_group_degraded"} {
		shows(g.t, fmt.Sprintf("%s{group=%q} == 1", family, g.Group))
	}
	scraped(g.t, g)
	g.edit(func(s *v1.ElectionGroupSpec) { s.Processes = right })
	g.coordinates(g.pod(4))
}

// trouble is what an expression has that returns nothing as long as nothing is wrong.
var trouble = regexp.MustCompile(`^max by .*podesta_group_(stalled|degraded)\{.* == 1\)$`)

// shows waits until Prometheus has something to answer.
func shows(t *testing.T, expr string) {
	t.Helper()
	eventually(t, "an answer to "+expr, func() (bool, error) {
		all, err := prom.Query(t.Context(), expr)
		return len(all) > 0, err
	})
}

// scraped waits until Prometheus has scraped each agent of the group and the manager again.
func scraped(t *testing.T, g *group) {
	t.Helper()
	since := time.Now()
	eventually(t, "scrapes of all agents", func() (bool, error) {
		all, err := prom.Query(t.Context(), fmt.Sprintf(`min(timestamp(up{group=%[1]q} == 1)) > %[2]f and on () count(up{group=%[1]q} == 1) == 5 `+
			`and on () min(timestamp(podesta_groups)) > %[2]f`, g.Group, float64(since.UnixMilli())/1000))
		return len(all) == 1, err
	})
}

// show has every query of a dashboard answered.
func show(t *testing.T, file string, begun time.Time, phases []phase) {
	t.Helper()
	content, err := os.ReadFile(file)
	must(t, err)
	var dashboard struct {
		Title  string
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	must(t, json.Unmarshal(content, &dashboard))
	chosen := strings.NewReplacer("$namespace", "shop", "$group", "checkout", "$__rate_interval", "5s")
	queries, over := 0, time.Now()
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries++
			answer, err := prom.Range(t.Context(), chosen.Replace(target.Expr), begun, over, every)
			if err != nil {
				t.Errorf("%s, %s: %v", dashboard.Title, panel.Title, err)
				continue
			}
			for _, phase := range phases {
				if trouble.MatchString(target.Expr) != (phase.name == misconfigured) {
					continue
				}
				if !answered(answer, phase) {
					t.Errorf("%s, %s: no data during %s from %s", dashboard.Title, panel.Title, phase.name, target.Expr)
				}
			}
		}
	}
	t.Logf("%s: %d panels, %d queries", dashboard.Title, len(dashboard.Panels), queries)
}

// answered reports whether there is a number during a part.
func answered(answer model.Matrix, during phase) bool {
	for _, series := range answer {
		for _, point := range series.Values {
			at, value := point.Timestamp.Time(), float64(point.Value)
			if !at.Before(during.begin) && !at.After(during.over) && !math.IsNaN(value) && !math.IsInf(value, 0) {
				return true
			}
		}
	}
	return false
}
