package agent_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// The app reports that the coordinator does not answer it: once in 10 s, about the coordinator, and
// with a header that nothing sets by accident.
func TestSuspect(t *testing.T) {
	views, _, _ := serving(t, nil)
	clock := agent.MachineClocks{}.Read()
	ledger := agent.NewLedger(agent.ClocksFunc(func() lease.Reading { return clock }))
	report := func(method, name string, want int) *httptest.ResponseRecorder {
		t.Helper()
		w := suspect(views, ledger, method, name)
		if w.Code != want {
			t.Errorf("%s, %q: %d %s, want %d", method, name, w.Code, w.Body, want)
		}
		return w
	}
	report(http.MethodGet, "p2", http.StatusMethodNotAllowed)
	report(http.MethodPost, "", http.StatusBadRequest)
	report(http.MethodPost, "p1", http.StatusConflict)
	report(http.MethodPost, "p9", http.StatusConflict)
	report(http.MethodPost, "p2", http.StatusAccepted)
	clock.Boot += 4 * time.Second
	w := report(http.MethodPost, "p2", http.StatusTooManyRequests)
	if after := w.Header().Get("Retry-After"); after != "6" {
		t.Errorf("to be tried again after %q s", after)
	}
	clock.Boot += 6 * time.Second // and nobody has read the first one
	report(http.MethodPost, "p2", http.StatusTooManyRequests)
}

func suspect(b *agent.Views, l *agent.Ledger, method, name string) *httptest.ResponseRecorder {
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, "/v1/suspect", nil)
	if name != "" {
		r.Header.Set("Podesta-Suspect", name)
	}
	agent.AppAPI(b, l, agent.NewAccounts()).ServeHTTP(w, r)
	return w
}

// In a Guarded group the voters hear the leaseholder, so nothing comes of it, even if every app
// lies.
func TestGuardedSuspicion(t *testing.T) {
	forAll(t, func(t *testing.T, algorithm string) {
		g := startGroup(t, guarded(algorithm, roster.Always), 5)
		g.acts("p5")
		g.agree("p5")
		before := g.agents["p1"].view()
		for range 3 {
			for name, p := range g.agents {
				if name == "p5" {
					continue
				}
				if w := suspect(p.views, p.ledger, http.MethodPost, "p5"); w.Code != http.StatusAccepted {
					t.Fatal(w.Code, w.Body)
				}
			}
			for range 1000 {
				time.Sleep(10 * time.Millisecond)
				if may := g.may(); !slices.Equal(may, []string{"p5"}) {
					t.Fatalf("%v may act", may)
				}
			}
		}
		for name, p := range g.agents {
			if v := p.view(); v.Epoch != before.Epoch || v.Coordinator != "p5" {
				t.Errorf("%s follows %q under %v, and p1 followed p5 under %v", name, v.Coordinator, v.Epoch, before.Epoch)
			}
		}
		if last := g.agents["p1"].view().Last; last != before.Last {
			t.Errorf("an election was held: %v", last)
		}
	})
}
