package apphealth_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
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
		w.Header().Set("Content-Type", "application/grpc+proto")
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
		"no gRPC, though it says so in the end": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Grpc-Status", "0")
			_, _ = w.Write([]byte(good))
		}, "and not application/grpc"},
		"a status before the end": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "0")
			_, _ = w.Write([]byte(good))
		}, "no gRPC status"},
		"nothing but a status": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			w.Header().Set("Grpc-Status", "12")
			w.Header().Set("Grpc-Message", "unknown method")
		}, "12: unknown method"},
		"without a status": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/grpc")
			_, _ = w.Write([]byte(good))
		}, "no gRPC status"},
	} {
		err := parse(t, "grpc://"+serve(t, c.server)+"/shop")(t.Context())
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// The question is what servers expect of a client, and says how long the probe waits.
func TestGRPCAsks(t *testing.T) {
	asked := make(chan *http.Request, 1)
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != "\x00\x00\x00\x00\x06\x0a\x04shop" {
			t.Errorf("%q, %v", body, err)
		}
		asked <- r
		answers("0", "\x00\x00\x00\x00\x02\x08\x01")(w, r)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if err := parse(t, "grpc://"+at+"/shop")(ctx); err != nil {
		t.Fatal(err)
	}
	r := <-asked
	if r.Method != http.MethodPost || r.URL.Path != "/grpc.health.v1.Health/Check" ||
		r.Header.Get("Content-Type") != "application/grpc" || r.Header.Get("Te") != "trailers" {
		t.Errorf("%s %s, %v", r.Method, r.URL, r.Header)
	}
	left, err := time.ParseDuration(strings.TrimSuffix(r.Header.Get("Grpc-Timeout"), "m") + "ms")
	if err != nil || left <= 59*time.Minute || left > time.Hour {
		t.Errorf("%s is left, %v", r.Header.Get("Grpc-Timeout"), err)
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
	ctx, cancel := context.WithTimeout(t.Context(), untilAsked)
	defer cancel()
	if err := parse(t, "grpc://"+silent)(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silence: %v", err)
	}
	<-gone
}

// An app that refuses what it is asked is asked once in a probe, and its connection ends with that.
func TestGRPCIsAskedOnce(t *testing.T) {
	const settings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
	for name, frames := range map[string]struct{ first, then string }{
		"the stream is refused": {settings, "\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x07"},
		"the server goes away": {
			settings, "\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		},
		"no streams": {"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00", ""},
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		asked := make(chan int)
		go func() {
			n := 0
			for ; ; n++ {
				c, err := l.Accept()
				if err != nil {
					break
				}
				refuse(c, frames.first, frames.then)
			}
			asked <- n
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if err := parse(t, "grpc://"+l.Addr().String())(ctx); err == nil {
			t.Errorf("%s: it is healthy", name)
		}
		cancel()
		_ = l.Close()
		if n := <-asked; n != 1 {
			t.Errorf("%s: it was asked %d times", name, n)
		}
	}
}

// refuse speaks HTTP/2 until the client ends the connection: it answers the first HEADERS with these
// frames.
func refuse(c net.Conn, first, then string) {
	defer c.Close()
	_, _ = io.WriteString(c, first)
	in := bufio.NewReader(c)
	_, _ = in.Discard(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	for header := make([]byte, 9); ; {
		if _, err := io.ReadFull(in, header); err != nil {
			return
		}
		_, _ = in.Discard(int(header[0])<<16 | int(header[1])<<8 | int(header[2]))
		if header[3] == 1 {
			_, _ = io.WriteString(c, then)
		}
	}
}
