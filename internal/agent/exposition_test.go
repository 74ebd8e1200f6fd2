package agent_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
	"github.com/podesta-dev/podesta/test/scrape"
)

// runtimeFamily reports whether a family is of the Go runtime or the process: not ours to name.
func runtimeFamily(name string) bool {
	return strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_")
}

// scraped is what a process exposes, which must be faultless.
func (p *process) scraped(t *testing.T) scrape.Families {
	t.Helper()
	text := &bytes.Buffer{}
	if err := p.meter.Write(text); err != nil {
		t.Fatal(err)
	}
	families, err := scrape.Parse(text.Bytes())
	if err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	said, err := scrape.Lint(text.Bytes(), func(string) bool { return false })
	if err != nil || len(said) > 0 {
		t.Fatalf("promtool check metrics says of %s: %v, %v", p.name, said, err)
	}
	return families
}

// value is the value of a series, with its labels as they are written; it fails without one.
func (p *process) value(t *testing.T, series string) float64 {
	t.Helper()
	text := &bytes.Buffer{}
	if err := p.meter.Write(text); err != nil {
		t.Fatal(err)
	}
	return sample(t, "\n"+text.String(), series)
}

// An agent exposes what the page says, before and after an election, and no series goes but the
// name of the coordinator.
func TestExposition(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := scrape.Documented(string(page), "Of each agent")
	for _, safety := range []string{roster.Classic, roster.Guarded} {
		t.Run(safety, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				g := startGroup(t, roster.Roster{
					Algorithm: "Bully", Safety: safety, Lease: leaseTime, Preemption: roster.Never,
				}, 3)
				g.agree("p3")
				<-time.After(leaseTime)
				before := g.agents["p2"].scraped(t)
				got := before.Shapes(func(name string) bool { return !runtimeFamily(name) })
				if diff := cmp.Diff(documented, got); diff != "" {
					t.Errorf("- docs/reference/metrics.md, + what an agent exposes:\n%s", diff)
				}
				g.kill("p3")
				synctest.Wait()
				during := g.agents["p2"].scraped(t)
				g.agreeOnSomebody()
				<-time.After(leaseTime)
				after := g.agents["p2"].scraped(t)
				for _, later := range []scrape.Families{during, after} {
					if lost := scrape.Lost(before, later, "podesta_agent_coordinator_info"); len(lost) > 0 {
						t.Errorf("series have gone: %v", lost)
					}
				}
			})
		})
	}
}

// What the gauges and counters of a Guarded group say through the loss of its coordinator, and of
// its majority.
func TestMetricsOfAGuardedGroup(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startGroup(t, roster.Roster{
			Algorithm: "Bully", Safety: roster.Guarded, Lease: leaseTime, Preemption: roster.Never,
		}, 3)
		g.agree("p3")
		<-time.After(leaseTime)
		p3 := g.agents["p3"]
		for series, want := range map[string]float64{
			"podesta_agent_is_coordinator":                                 1,
			`leader_election_master_status{name="scheduler"}`:              1,
			`podesta_agent_coordinator_info{coordinator="p3"}`:             1,
			"podesta_agent_peers_up":                                       2,
			"podesta_agent_links_open":                                     2,
			"podesta_agent_voters":                                         3,
			"podesta_agent_may_fail":                                       1,
			"podesta_agent_lease_lapses_total":                             0,
			"podesta_agent_peers_disagreeing":                              0,
			"podesta_agent_coordinator_changes_total":                      1,
			"podesta_agent_certificate_expiration_timestamp_seconds":       0,
			"podesta_agent_sessions":                                       0,
			`podesta_agent_group_info{algorithm="Bully",safety="Guarded"}`: 1,
		} {
			if got := p3.value(t, series); got != want {
				t.Errorf("%s is %v, want %v", series, got, want)
			}
		}
		if left := p3.value(t, "podesta_agent_lease_remaining_seconds"); left <= 0 || left > leaseTime.Seconds() {
			t.Errorf("the lease remains for %v s", left)
		}
		if n := p3.value(t, "podesta_agent_lease_renewal_duration_seconds_count"); n < 10 {
			t.Errorf("%v renewals were measured", n)
		}
		took := p3.value(t, "podesta_agent_lease_renewal_duration_seconds_sum") /
			p3.value(t, "podesta_agent_lease_renewal_duration_seconds_count")
		if took < 0.0003 || took > 0.002 { // there and back, 0.2 ms each
			t.Errorf("a renewal takes %v s", took)
		}
		p3.ledger.Open()
		if n := p3.value(t, "podesta_agent_sessions"); n != 1 {
			t.Errorf("%v sessions are open, want 1", n)
		}
		g.kill("p1")
		<-time.After(leaseTime)
		if n := p3.value(t, "podesta_agent_may_fail"); n != 0 {
			t.Errorf("two of three may lose %v", n)
		}
		g.kill("p2")
		<-time.After(2 * leaseTime)
		for series, want := range map[string]float64{
			"podesta_agent_is_coordinator":                    0,
			"podesta_agent_has_coordinator":                   0,
			"podesta_agent_lease_remaining_seconds":           0,
			"podesta_agent_lease_lapses_total":                1,
			`podesta_agent_lease_delays_total{late="Voters"}`: 1,
			`podesta_agent_lease_delays_total{late="Agent"}`:  0,
			`leader_election_master_status{name="scheduler"}`: 0,
			"podesta_agent_peers_up":                          0,
			"podesta_agent_links_open":                        0,
		} {
			if got := p3.value(t, series); got != want {
				t.Errorf("without a majority: %s is %v, want %v", series, got, want)
			}
		}
	})
}

// A lease that is given up in time is no lapse. A process that stands still has lost the right to
// act when its lease has run out, whatever its view still shows.
func TestMetricsOfALeaseThatEnds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := startGroup(t, roster.Roster{
			Algorithm: "Bully", Safety: roster.Guarded, Lease: leaseTime, Preemption: roster.Never,
		}, 3)
		g.agree("p3")
		<-time.After(leaseTime)
		p3 := g.agents["p3"]
		p3.health <- errors.New("no database")
		g.agree("p2")
		<-time.After(leaseTime)
		if n := p3.value(t, "podesta_agent_lease_lapses_total"); n != 0 {
			t.Errorf("%v leases lapsed, and p3 gave its own up", n)
		}
		if n := p3.value(t, "podesta_agent_candidate"); n != 0 {
			t.Errorf("p3 is a candidate (%v), and its app is unhealthy", n)
		}
		p2 := g.agents["p2"]
		p2.mu.Lock()
		p2.stands = 2 * leaseTime
		p2.mu.Unlock()
		g.edit(func(r *roster.Roster) { r.AppHealth.Path = "/another" })
		<-time.After(leaseTime + leaseTime/2)
		if v := p2.view(); v.Coordinator != "p2" {
			t.Fatalf("p2 does not stand still: it follows %q", v.Coordinator)
		}
		for _, series := range []string{
			"podesta_agent_is_coordinator", `leader_election_master_status{name="scheduler"}`,
			"podesta_agent_lease_remaining_seconds",
		} {
			if n := p2.value(t, series); n != 0 {
				t.Errorf("%s is %v, and the lease has run out", series, n)
			}
		}
		<-time.After(leaseTime)
		for series, want := range map[string]float64{
			"podesta_agent_lease_lapses_total":                1,
			`podesta_agent_lease_delays_total{late="Agent"}`:  1,
			`podesta_agent_lease_delays_total{late="Voters"}`: 0,
		} {
			if got := p2.value(t, series); got != want {
				t.Errorf("p2 stood still: %s is %v, want %v", series, got, want)
			}
		}
	})
}

// A loop that stands still is counted, once, with how long it stood.
func TestPausesAreCounted(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		g := newGroup(t, "Bully", 2)
		g.agree("p2")
		<-time.After(time.Second)
		p1 := g.agents["p1"]
		if n := p1.value(t, "podesta_agent_loop_pauses_total"); n != 0 {
			t.Fatalf("%v pauses before the first", n)
		}
		p1.mu.Lock()
		p1.stands = 3 * timeout
		p1.mu.Unlock()
		g.edit(func(r *roster.Roster) { r.AppHealth.Path = "/another" })
		<-time.After(10 * timeout)
		if n := p1.value(t, "podesta_agent_loop_pauses_total"); n != 1 {
			t.Errorf("%v pauses, want 1", n)
		}
		if s := p1.value(t, "podesta_agent_loop_paused_seconds_total"); s < 1 || s > 1.5 {
			t.Errorf("it stood still for %v s, want 1.5 less a heartbeat", s)
		}
	})
}
