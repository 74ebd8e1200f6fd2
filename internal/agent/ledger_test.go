package agent

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// An app that goes gives up what it was told. An app whose session the agent cuts, because it did
// not read on, may wake up and read what permits it: the lease waits for that deadline (LH6).
func TestWhoEndsASession(t *testing.T) {
	for _, c := range []struct {
		name   string
		reads  bool // the app reads the event, and goes
		relies bool
	}{{"the app goes", true, false}, {"the app does not read on", false, true}} {
		t.Run(c.name, func(t *testing.T) {
			l := NewLedger(func() lease.Reading { return lease.Reading{Boot: time.Hour} })
			deadline := time.Hour + time.Second
			l.grant(lease.Permission{Epoch: 1, Deadline: deadline})
			ctx, gone := context.WithCancel(t.Context())
			api := appAPI{board: NewBoard(), ledger: l}
			api.board.publish(View{Safety: roster.Guarded})
			api.followPermission(ctx, func(string, any) bool {
				if c.reads {
					gone()
				}
				return c.reads
			})
			gone()
			if relies := l.told() >= deadline; relies != c.relies {
				t.Errorf("it is relied on until %v, with a deadline at %v", l.told(), deadline)
			}
			if !l.deserted() {
				t.Error("the session has ended, and the app does not count as gone")
			}
		})
	}
}

// A stray GET of a session would end the process's candidacy when it goes. It opens none.
func TestASessionIsMeant(t *testing.T) {
	ledger := NewLedger(ReadClocks)
	api := AppAPI(NewBoard(), ledger)
	for _, header := range []string{"", "close", "Open"} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/session", nil)
		r.Header.Set("Podesta-Session", header)
		api.ServeHTTP(w, r)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "Podesta-Session: open") {
			t.Errorf("header %q: %d %s", header, w.Code, w.Body)
		}
	}
	if ledger.deserted() {
		t.Error("what was not a session counts as one that has closed")
	}
}
