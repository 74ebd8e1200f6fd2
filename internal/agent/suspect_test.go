package agent_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/agent"
	"github.com/podesta-dev/podesta/internal/lease"
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
	agent.AppAPI(b, l, agent.NewAccounts(), slog.New(slog.DiscardHandler)).ServeHTTP(w, r)
	return w
}
