package languages

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// With the shortest lease the agent tells a permission of some 80 ms again every 27 ms. A program
// goes on acting while it reads that.
func TestRenewedOften(t *testing.T) {
	for _, p := range programs {
		t.Run(p.language, func(t *testing.T) {
			p.skipUnlessThere(t)
			t.Parallel()
			resource := newResource(t)
			agent := httptest.NewServer(renewing(t, 82*time.Millisecond, 27*time.Millisecond))
			t.Cleanup(agent.Close)
			p.begin(t, resource.url, agent.URL)
			resource.awaitActs(t, 5)
		})
	}
}

// renewing is an agent that permits so much again and again.
func renewing(t *testing.T, remaining, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		again := time.NewTicker(pause)
		defer again.Stop()
		for r.Context().Err() == nil {
			permits(t, w, uptime(t)+remaining, remaining)
			select {
			case <-again.C:
			case <-r.Context().Done():
			}
		}
	}
}
