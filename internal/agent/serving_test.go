package agent_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/internal/transport"
	"github.com/podesta-dev/podesta/test/scrape"
)

// serving starts p1 and p2 in real time and returns p1's views, and a function that kills p2.
func serving(t *testing.T, pings chan chan<- struct{}) (views *agent.Views, meter *agent.Meter, kill func()) {
	t.Helper()
	network := transport.NewNetwork()
	r := roster.Roster{Namespace: "shop", Group: "g", Generation: 1, Algorithm: "Bully", Safety: "Classic", Heartbeat: heartbeat, Timeout: timeout,
		Processes: []roster.Process{member(1), member(2)}}
	all := []*agent.Views{agent.NewViews(), agent.NewViews()}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 2)
	for i, p := range r.Processes {
		links, permit := network.Join(p.Name, 1), agent.NewLedger(agent.MachineClocks{})
		c := agent.Config{Self: p.Name, UID: p.UID, Incarnation: 1, Roster: r, Links: links, Views: all[i], Accounts: agent.NewAccounts(),
			Meter: agent.NewMeter(all[i], permit, agent.Sources{Dropped: links.Dropped}), Ledger: permit, Logger: slog.New(slog.DiscardHandler)}
		if i == 0 {
			c.Pings, meter = pings, c.Meter
		}
		go func() { done <- agent.Run(ctx, c) }()
	}
	t.Cleanup(func() { stop(); <-done; <-done })
	await(t, all[0], "p2")
	return all[0], meter, func() { network.Kill("p2") }
}

func await(t *testing.T, b *agent.Views, want string) {
	t.Helper()
	for {
		v, changed := b.Read()
		if v.Coordinator == want && !v.Electing {
			return
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatalf("follows %q, want %q", v.Coordinator, want)
		}
	}
}

func TestAppAPI(t *testing.T) {
	views, _, kill := serving(t, nil)
	api := agent.AppAPI(views, agent.NewLedger(agent.MachineClocks{}), agent.NewAccounts(), slog.New(slog.DiscardHandler))
	for _, c := range []struct {
		path   string
		status int
		body   string
	}{
		{"/", 200, `{"name":"p2","last_update":"`},
		{"/v1/coordinator", 200, `"name":"p2","priority":2,"self":"p1","group":"g","safety":"Classic","electing":false`},
		{"/v1/permission", 503, `"name":"p2"`},
		{"/v1/processes", 200, `{"name":"p2","priority":2,"state":"Coordinator"}`},
		{"/v1/nothing", 404, ``},
	} {
		if status, body := get(api, c.path); status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("GET %s: %d %s, want %d with %s", c.path, status, body, c.status, c.body)
		}
	}
	kill()
	await(t, views, "p1")
	if status, body := get(api, "/v1/permission"); status != 200 || !strings.Contains(body, `"name":"p1"`) {
		t.Errorf("after p2's death /v1/permission says %d %s", status, body)
	}
}

func TestAppAPIBeforeTheFirstRoster(t *testing.T) {
	api := agent.AppAPI(agent.NewViews(), agent.NewLedger(agent.MachineClocks{}), agent.NewAccounts(), slog.New(slog.DiscardHandler))
	for path, want := range map[string]int{"/": 200, "/v1/coordinator": 503, "/v1/permission": 503, "/v1/processes": 200} {
		if status, body := get(api, path); status != want {
			t.Errorf("GET %s: %d %s, want %d", path, status, body, want)
		}
	}
}

// A HEAD would open a session and close it, which is what an app does that goes; and it would take
// a permission without the deadline.
func TestAHeadPermitsNothing(t *testing.T) {
	for _, path := range []string{"/v1/session", "/v1/permission"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodHead, path, nil)
		r.Header.Set("Podesta-Session", "open")
		agent.AppAPI(agent.NewViews(), agent.NewLedger(agent.MachineClocks{}), agent.NewAccounts(), slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
		if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != http.MethodGet {
			t.Errorf("HEAD %s: %d, allowed is %q", path, w.Code, w.Header().Get("Allow"))
		}
	}
}

func get(h http.Handler, path string) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

// Liveness asks the loop; readiness does not.
func TestStatus(t *testing.T) {
	pings := make(chan chan<- struct{})
	views, meter, _ := serving(t, pings)
	ledger := agent.NewLedger(agent.MachineClocks{})
	ready := agent.NewReadiness(views, ledger, nil, false)
	unready := agent.NewReadiness(agent.NewViews(), ledger, nil, false)
	running := agent.Status(meter, ready, func() chan<- chan<- struct{} { return pings })
	waiting := agent.Status(meter, unready, func() chan<- chan<- struct{} { return nil })
	stuck := agent.Status(meter, ready, func() chan<- chan<- struct{} { return make(chan chan<- struct{}) })
	for _, c := range []struct {
		name    string
		handler http.Handler
		path    string
		want    int
	}{
		{"running", running, "/healthz", 200}, {"running", running, "/readyz", 200},
		{"waiting for a roster", waiting, "/healthz", 200}, {"waiting for a roster", waiting, "/readyz", 503},
		{"stuck", stuck, "/healthz", 503}, {"stuck", stuck, "/readyz", 200},
	} {
		if status, _ := get(c.handler, c.path); status != c.want {
			t.Errorf("%s: GET %s says %d, want %d", c.name, c.path, status, c.want)
		}
	}
	_, body := get(running, "/metrics")
	if all, last := sample(t, body, "podesta_agent_election_duration_seconds_count"), sample(t, body, `podesta_agent_election_duration_seconds_bucket{le="+Inf"}`); all < 1 || all != last {
		t.Errorf("%v elections, %v in the last bucket", all, last)
	}
	if _, err := scrape.Parse([]byte(body)); err != nil {
		t.Errorf("/metrics: %v", err)
	}
}

// sample is the value of a metric.
func sample(t *testing.T, body, name string) float64 {
	t.Helper()
	_, rest, _ := strings.Cut(body, "\n"+name+" ")
	value, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return n
}
