package apphealth_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/podesta-dev/podesta/internal/apphealth"
	"github.com/podesta-dev/podesta/internal/roster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "HOST:PORT",
		"http://127.0.0.1/":   "HOST:PORT",
		"grpc://:9090/shop":   "HOST:PORT",
		"https://127.0.0.1:1": "must begin with",
		"127.0.0.1:8080":      "first path segment",
	} {
		if _, err := apphealth.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func parse(t *testing.T, text string) apphealth.Check {
	t.Helper()
	probe, err := apphealth.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return probe.Check
}

func TestHTTP(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
	}))
	defer server.Close()
	check := parse(t, server.URL+"/healthz")
	if err := check(t.Context()); err != nil {
		t.Errorf("200: %v", err)
	}
	status = http.StatusServiceUnavailable
	if err := check(t.Context()); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("503: %v", err)
	}
}

// The flag's URL may name a user, and an answer has no endless headers.
func TestHTTPAnswers(t *testing.T) {
	size := 10
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "probe" || password != "pass:word" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
		}
		w.Header().Set("X", strings.Repeat("x", size))
	}))
	defer server.Close()
	at := server.Listener.Addr().String()
	check := parse(t, "http://probe:pass:word@"+at+"/healthz")
	if err := check(t.Context()); err != nil {
		t.Error(err)
	}
	if err := parse(t, server.URL)(t.Context()); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("nobody: %v", err)
	}
	size = 32 << 10
	if err := check(t.Context()); err == nil || !strings.Contains(err.Error(), "header") {
		t.Errorf("long headers: %v", err)
	}
}

// The reason that an app gives goes to logs and statuses, so it is cut.
func TestALongReason(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "HTTP/1.1 503 "+strings.Repeat("x", 8<<10)+"\r\n\r\n")
	}))
	defer server.Close()
	err := parse(t, server.URL)(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "503 xxx") || len(err.Error()) > 200 {
		t.Errorf("%v", err)
	}
}

func TestTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	check := parse(t, "tcp://"+l.Addr().String())
	if err := check(t.Context()); err != nil {
		t.Errorf("listening: %v", err)
	}
	_ = l.Close()
	if err := check(t.Context()); err == nil {
		t.Error("an app that does not listen counts as healthy")
	}
}

func TestGRPC(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, states := grpc.NewServer(), health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, states)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	check := parse(t, "grpc://"+l.Addr().String()+"/shop")
	if err := check(t.Context()); err == nil {
		t.Error("an unknown service counts as healthy")
	}
	states.SetServingStatus("shop", grpc_health_v1.HealthCheckResponse_SERVING)
	if err := check(t.Context()); err != nil {
		t.Errorf("SERVING: %v", err)
	}
	states.SetServingStatus("shop", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	if err := check(t.Context()); err == nil || !strings.Contains(err.Error(), "NOT_SERVING") {
		t.Errorf("NOT_SERVING: %v", err)
	}
}

// The probe that a roster describes goes to the agent's own host, whatever the path looks like and
// wherever the app redirects.
func TestNothingLeadsElsewhere(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was requested from another host", r.URL)
	}))
	defer elsewhere.Close()
	t.Setenv("HTTP_PROXY", elsewhere.URL)
	t.Setenv("HTTPS_PROXY", elsewhere.URL)
	asked := make(chan string, 1)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Host + " " + r.RequestURI
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
	}))
	defer app.Close()
	host, port := address(t, app.Listener.Addr())
	outside := strings.TrimPrefix(elsewhere.URL, "http:")
	for path, want := range map[string]string{
		"/healthz?deep=1&x=%20": "/healthz?deep=1&x=%20",
		"/a%2Fb":                "/a%2Fb",
		outside + "/":           outside + "/",
		"/@" + outside[2:]:      "/@" + outside[2:],
		"/#" + outside:          "/%23" + outside,
	} {
		h := roster.AppHealth{
			Handler:          roster.HTTPGet,
			Port:             port,
			Path:             path,
			Period:           time.Second,
			Timeout:          time.Second,
			FailureThreshold: 1,
			SuccessThreshold: 1,
		}
		if err := apphealth.At(host, h).Check(t.Context()); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got := <-asked; got != app.Listener.Addr().String()+" "+want {
			t.Errorf("%s: asked for %s", path, got)
		}
	}
}

// A roster can express everything that the flag can, with the same defaults.
func TestRosterProbesAsTheFlagDoes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, states := grpc.NewServer(), health.NewServer()
	grpc_health_v1.RegisterHealthServer(server, states)
	states.SetServingStatus("shop", grpc_health_v1.HealthCheckResponse_SERVING)
	go func() { _ = server.Serve(l) }()
	defer server.Stop()
	host, port := address(t, l.Addr())
	flag, err := apphealth.Parse("tcp://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for handler, healthy := range map[string]bool{
		`"tcpSocket": {"port": %d}`:                      true,
		`"grpc": {"port": %d}`:                           true,
		`"grpc": {"port": %d, "service": "shop"}`:        true,
		`"grpc": {"port": %d, "service": "bar"}`:         false,
		`"httpGet": {"port": %d, "path": "/not-http-1"}`: false,
	} {
		r, err := roster.Parse(fmt.Appendf(nil, `{"group": "g", "appHealth": {`+handler+`}}`, port))
		if err != nil {
			t.Fatal(err)
		}
		p := apphealth.At(host, r.AppHealth)
		if err := p.Check(t.Context()); (err == nil) != healthy {
			t.Errorf("%s: %v", handler, err)
		}
		if p.Period != flag.Period || p.Timeout != flag.Timeout ||
			p.FailureThreshold != flag.FailureThreshold ||
			p.SuccessThreshold != flag.SuccessThreshold {
			t.Errorf("%s: %+v, and the flag %+v", handler, p, flag)
		}
	}
	if apphealth.At(host, roster.AppHealth{}) != nil {
		t.Error("an app is probed although the roster does not say so")
	}
}

func address(t *testing.T, a net.Addr) (host string, port int32) {
	t.Helper()
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		t.Fatalf("unexpected address %v", a)
	}
	return tcp.IP.String(), int32(tcp.Port)
}
