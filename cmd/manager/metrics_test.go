package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/test/bubble"
)

// An address that asks for metrics all the time is refused before the API server is asked about its
// token; another one is not.
func TestWhoAsksForMetricsTooOften(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		asked := 0
		handler := inTurn(connlimit.NewTurns(scrapes, time.Now),
			http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
		ask := func(address string) int {
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
			request.RemoteAddr = address
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, request)
			return answer.Code
		}
		for range 2 * scrapes.Burst {
			ask("10.0.0.1:1")
		}
		if asked != scrapes.Burst {
			t.Errorf("%d requests were let through, want %d", asked, scrapes.Burst)
		}
		if code := ask("10.0.0.1:2"); code != http.StatusTooManyRequests {
			t.Errorf("another port of that address: %d", code)
		}
		if code := ask("10.0.0.2:1"); code != http.StatusOK {
			t.Errorf("another address: %d", code)
		}
		<-time.After(scrapes.Refill)
		if code := ask("10.0.0.1:3"); code != http.StatusOK {
			t.Errorf("after %v: %d", scrapes.Refill, code)
		}
	})
}
