package agent

import (
	"bytes"
	"context"
	"net/http"
	"time"
)

// answerWithin is how long the loop may take to answer a liveness probe before it counts as stuck.
const answerWithin = time.Second

// Status serves probes and metrics on the pod's address. Liveness asks the loop itself, so that a
// stuck agent does not look healthy. Before the first roster there is no loop (pings returns nil),
// and an agent that waits for it is alive.
func Status(m *Meter, ready *Readiness, pings func() chan<- chan<- struct{}) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /readyz", ready)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		if loop := pings(); loop != nil && !answers(r.Context(), loop) {
			http.Error(w, "the agent's loop does not answer", http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusOK)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		text := &bytes.Buffer{}
		if err := m.Write(text); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = text.WriteTo(w) // whoever asked has gone
	})
	return mux
}

func answers(ctx context.Context, loop chan<- chan<- struct{}) bool {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	pong := make(chan struct{})
	select {
	case loop <- pong:
	case <-ctx.Done():
		return false
	}
	select {
	case <-pong:
		return true
	case <-ctx.Done():
		return false
	}
}
