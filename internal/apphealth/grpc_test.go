package apphealth_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve serves HTTP/2 without TLS, as a gRPC server does.
func serve(t *testing.T, h http.HandlerFunc) (address string) {
	t.Helper()
	server := httptest.NewUnstartedServer(h)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// answers returns a handler that answers a call with this status and body.
func answers(status, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status, Grpc-Message")
		_, _ = w.Write([]byte(body))
		w.Header().Set("Grpc-Status", status)
		w.Header().Set("Grpc-Message", "it%20is late")
	}
}

// What is no answer of the health checking protocol is not healthy.
func TestGRPCAnswers(t *testing.T) {
	const good = "\x00\x00\x00\x00\x02\x08\x01"
	for name, c := range map[string]struct {
		server http.HandlerFunc
		want   string // in the error; empty: it is healthy
	}{
		"SERVING":                  {answers("0", good), ""},
		"with a field of tomorrow": {answers("0", "\x00\x00\x00\x00\x07\x12\x03abc\x08\x01"), ""},
		"UNKNOWN is left out":      {answers("0", "\x00\x00\x00\x00\x00"), "UNKNOWN"},
		"SERVICE_UNKNOWN":          {answers("0", "\x00\x00\x00\x00\x02\x08\x03"), "SERVICE_UNKNOWN"},
		"a status of tomorrow":     {answers("0", "\x00\x00\x00\x00\x02\x08\x7f"), "does not have"},
		"an error":                 {answers("14", good), "14: it is late"},
		"compressed":               {answers("0", "\x01\x00\x00\x00\x02\x08\x01"), "no HealthCheckResponse"},
		"cut short":                {answers("0", good[:6]), "no HealthCheckResponse"},
		"a field cut short":        {answers("0", "\x00\x00\x00\x00\x01\x08"), "no HealthCheckResponse"},
		"nothing":                  {answers("0", ""), "no HealthCheckResponse"},
		"two answers":              {answers("0", good+good), "no HealthCheckResponse"},
		"a long answer":            {answers("0", strings.Repeat(good, 1000)), "no gRPC status"},
		"long headers": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X", strings.Repeat("x", 32<<10))
			answers("0", good)(w, r)
		}, "connection error"},
		"no gRPC": {http.NotFound, "404"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "307"},
		"without a status": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(good))
		}, "no gRPC status"},
	} {
		err := parse(t, "grpc://"+serve(t, c.server)+"/shop")(t.Context())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A server that speaks HTTP/1 is not healthy, nor is one that says nothing in time.
func TestGRPCIsNotAnswered(t *testing.T) {
	old := httptest.NewServer(http.NotFoundHandler())
	defer old.Close()
	if err := parse(t, "grpc://"+old.Listener.Addr().String())(t.Context()); err == nil {
		t.Error("HTTP/1 counts as healthy")
	}
	gone := make(chan struct{})
	silent := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done() // it hears that the probe has given up
		close(gone)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := parse(t, "grpc://"+silent)(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silence: %v", err)
	}
	<-gone
}
