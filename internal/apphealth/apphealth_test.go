package apphealth_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
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

// Whoever asked a proxy would find nobody there. (net/http reads this once in a process.)
func TestMain(m *testing.M) {
	_ = os.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	goleak.VerifyTestMain(m)
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "HOST:PORT",
		"http://127.0.0.1/": "HOST:PORT",
		"grpc://:9090/shop": "HOST:PORT",
		"ftp://127.0.0.1:1": "must begin with",
		"127.0.0.1:8080":    "first path segment",
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

// raw returns a handler that answers what no server of net/http would.
func raw(t *testing.T, answer string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, answer)
	})
}

// What an app says is the reason goes to the log, so it is cut.
func TestALongReason(t *testing.T) {
	long := strings.Repeat("x", 8<<10)
	for answer, want := range map[string]string{
		"HTTP/1.1 503 " + long + "\r\n\r\n":       "503 xxx",
		long + "\r\n\r\n":                         "malformed HTTP",
		"HTTP/1.1 200 OK\r\n" + long + "\r\n\r\n": "malformed MIME",
	} {
		server := httptest.NewServer(raw(t, answer))
		err := parse(t, server.URL)(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%.20q: %v", answer, err)
		}
		server.Close()
	}
}

// What is not an answer of 200 to 399 to the end of its body is not healthy.
func TestHTTPStatuses(t *testing.T) {
	for answer, want := range map[string]string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok":              "",
		"HTTP/1.1 399 x\r\n\r\n":                                      "",
		"HTTP/1.1 400 x\r\n\r\n":                                      "400 x",
		"HTTP/1.1 101 x\r\n\r\n":                                      "101 x",
		"HTTP/1.1 000 x\r\n\r\n":                                      "000 x",
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok":              "unexpected EOF",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n": "chunk",
	} {
		server := httptest.NewServer(raw(t, answer))
		err := parse(t, server.URL)(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", answer, err, want)
		}
		server.Close()
	}
}

// untilAsked is how long a probe has that is to end in the middle: until then the app has been
// asked, also on a busy machine.
const untilAsked = 2 * time.Second

// A page is read, or as much of it as a kubelet reads, so that the app is not interrupted in its
// answer. One that does not come to its end in time is no answer.
func TestHTTPBodies(t *testing.T) {
	wrote := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := w.Write(make([]byte, 9<<10))
		if r.URL.Path == "/slow" {
			err = errors.Join(err, http.NewResponseController(w).Flush())
			<-r.Context().Done()
		}
		wrote <- errors.Join(err, r.Context().Err())
	}))
	defer server.Close()
	if err := parse(t, server.URL)(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-wrote; err != nil {
		t.Errorf("the app was interrupted: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), untilAsked)
	defer cancel()
	if err := parse(t, server.URL+"/slow")(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an answer without an end: %v", err)
	}
	<-wrote
}

// A redirect within the app is followed, as a kubelet does, and what it leads to is the answer.
func TestRedirects(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, _, _ := r.BasicAuth()
		switch asked++; {
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "ill?by="+user, http.StatusMovedPermanently)
		case r.URL.Path == "/ill" && r.URL.RawQuery == "by=probe" && user == "probe":
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Path == "/around":
			http.Redirect(w, r, "/around", http.StatusTemporaryRedirect)
		case r.URL.Path == "/nowhere":
			w.WriteHeader(http.StatusFound)
		case strings.HasSuffix(r.URL.Path, "x"):
			http.Redirect(w, r, strings.TrimSuffix(r.URL.Path, "x"), http.StatusFound)
		}
	}))
	defer server.Close()
	at := strings.Replace(server.URL, "//", "//probe:x@", 1)
	for path, want := range map[string]string{
		"/moved": "503", "/around": "without end", "/nowhere": "", "/well": "", "/far-xxxxxxxxx": "",
		"/too-far-xxxxxxxxxx": "without end",
	} {
		err := parse(t, at+path)(t.Context())
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if asked != 2+10+1+1+10+10 {
		t.Errorf("it was asked %d times", asked)
	}
}

// By HTTPS the app is asked whatever its certificate says, as a kubelet asks; by HTTP it is not
// healthy then. A redirect to the other scheme is an answer, and is not followed.
func TestHTTPS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ill":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "/moved":
			http.Redirect(w, r, "http://"+r.Host+"/ill", http.StatusFound)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of the one that asks by HTTP
	server.StartTLS()
	defer server.Close()
	host, port := address(t, server.Listener.Addr())
	for scheme, paths := range map[string]map[string]string{
		"HTTPS": {"/": "", "/ill": "503", "/moved": ""},
		"HTTP":  {"/": "400"},
	} {
		for path, want := range paths {
			r, err := roster.Parse(fmt.Appendf(nil, `{"group": "g", "appHealth": {"httpGet":
				{"port": %d, "path": %q, "scheme": %q}}}`, port, path, scheme))
			if err != nil {
				t.Fatal(err)
			}
			byFlag := parse(t, strings.ToLower(scheme)+"://"+server.Listener.Addr().String()+path)
			for _, check := range []apphealth.Check{apphealth.At(host, r.AppHealth).Check, byFlag} {
				if err := check(t.Context()); (err == nil) != (want == "") ||
					err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s %s: %v, want %q", scheme, path, err, want)
				}
			}
		}
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

// The probe that a roster describes goes to the agent's own host, whatever the path looks like and
// wherever the app redirects.
func TestNothingLeadsElsewhere(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was requested from another host", r.URL)
	}))
	defer elsewhere.Close()
	asked := make(chan string, 1)
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Host + " " + r.RequestURI
		http.Redirect(w, r, elsewhere.URL, http.StatusFound)
	}))
	defer app.Close()
	_, port := address(t, app.Listener.Addr())
	host := "0.0.0.0" // this host, too; nobody asks a proxy about 127.0.0.1
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
		if got := <-asked; got != fmt.Sprintf("%s:%d %s", host, port, want) {
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
