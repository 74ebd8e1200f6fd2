package main

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/podesta-dev/podesta/test/bubble"
)

// A web page opens no session if the name of its site resolves to this machine.
func TestAPageOfAnotherSiteOpensNoSession(t *testing.T) {
	for host, want := range map[string]int{
		"evil.example": http.StatusForbidden,
		"agent":        http.StatusOK, // that of --app-address
	} {
		bubble.Test(t, func(t *testing.T) {
			c, _ := ask(t, "GET /v1/session HTTP/1.1\r\nHost: "+host+":4040\r\n"+
				"Podesta-Session: open\r\n\r\n")
			//nolint:bodyclose // a stream does not end, and the bubble closes its connection
			response, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != want {
				t.Errorf("host %s: %s", host, response.Status)
			}
		})
	}
}

// leaky is an app that leaves connections to its agent open.
type leaky struct {
	*testing.T
	net.Listener

	mu   sync.Mutex
	open map[string]bool // the agent's ends, by the app's address
}

func (l *leaky) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	address := c.RemoteAddr().String()
	l.set(address, true)
	return &watched{c, func() { l.set(address, false) }}, nil
}

func (l *leaky) set(address string, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if open {
		l.open[address] = true
	} else {
		delete(l.open, address)
	}
}

func (l *leaky) isOpen(c *leak) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open[c.LocalAddr().String()]
}

func (l *leaky) dial() *leak {
	l.Helper()
	c, err := (&net.Dialer{}).DialContext(l.Context(), "tcp", l.Addr().String())
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { c.Close() })
	return &leak{c, bufio.NewReader(c)}
}

// leak is one of its connections.
type leak struct {
	net.Conn
	lines *bufio.Reader
}

// get returns the status of the answer; 0 if the connection is closed.
func (l *leak) get(path string) int {
	_, _ = fmt.Fprintf(l, "GET %s HTTP/1.1\r\nHost: localhost\r\nPodesta-Session: open\r\n\r\n", path)
	response, err := http.ReadResponse(l.lines, nil) //nolint:bodyclose // the test leaks it
	if err != nil {
		return 0
	}
	if response.ContentLength >= 0 { // it is no stream
		_, _ = io.Copy(io.Discard, response.Body)
	}
	return response.StatusCode
}

// An app that leaves streams and connections open keeps its session, and the connection that it
// uses; and it can open another session.
func TestAnAppThatLeaksConnectionsKeepsItsSession(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	app := &leaky{T: t, Listener: l, open: map[string]bool{}}
	server := newSidecar(options{}, slog.New(slog.DiscardHandler), nil).appServer()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(app) }()
	t.Cleanup(func() { server.Close(); <-ended })

	session, used := app.dial(), app.dial()
	if got := session.get("/v1/session"); got != http.StatusOK {
		t.Fatalf("the first session: %d", got)
	}
	used.get("/")
	for range 200 { // which are closed, so the one that is used stays
		closed := app.dial()
		_, _ = io.WriteString(closed, "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
		_, _ = io.Copy(io.Discard, closed)
	}
	streams := 0
	for range 100 {
		if app.dial().get("/v1/events") == http.StatusOK {
			streams++
		}
	}
	if streams != 64 {
		t.Errorf("%d streams are served", streams)
	}
	for i := range 300 {
		leak := app.dial()
		switch i % 3 {
		case 0: // its request never ends
			_, _ = io.WriteString(leak, "GET / HTTP/1.1\r\nHost: localhost\r\n")
		case 1: // its body never comes
			_, _ = io.WriteString(leak, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")
		case 2:
			leak.get("/")
		}
		if got := used.get("/"); got != http.StatusOK {
			t.Fatalf("the connection that is used ends beside %d others: %d", i, got)
		}
	}
	if got := app.dial().get("/v1/session"); got != http.StatusOK {
		t.Errorf("another session: %d", got)
	}
	if !app.isOpen(session) {
		t.Error("the first session is closed")
	}
	app.mu.Lock()
	defer app.mu.Unlock()
	if n := len(app.open); n > 127+64+2 {
		t.Errorf("%d connections are open", n)
	}
}
