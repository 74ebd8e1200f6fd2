package main

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/test/bubble"
)

// one is a listener that accepts one connection.
type one struct{ conns chan net.Conn }

func (l one) Accept() (net.Conn, error) {
	c, ok := <-l.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (l one) Close() error {
	close(l.conns)
	return nil
}

func (l one) Addr() net.Addr { return &net.TCPAddr{} }

// watched is a connection that says when it is closed.
type watched struct {
	net.Conn
	closed func()
}

func (w *watched) Close() error {
	w.closed()
	return w.Conn.Close()
}

// ask sends a request to the app API, and returns a connection without any buffer. The result says
// when the agent has closed it.
func ask(t *testing.T, request string) (c net.Conn, closed chan struct{}) {
	t.Helper()
	o := options{appAddress: "agent:4040"}
	server := newSidecar(o, slog.New(slog.DiscardHandler), nil).appServer()
	closed = make(chan struct{})
	l := one{make(chan net.Conn, 1)}
	c, theirs := net.Pipe()
	l.conns <- &watched{theirs, sync.OnceFunc(func() { close(closed) })}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		_ = c.Close()
		<-served
	})
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c, closed
}

// An app that does not read what it asked for keeps nothing of the agent for long.
func TestAnAnswerThatNobodyReads(t *testing.T) {
	for _, request := range []string{
		"GET /v1/processes HTTP/1.1\r\nHost: agent\r\n\r\n",
		"GET /v1/events HTTP/1.1\r\nHost: agent\r\n\r\n",
	} {
		bubble.Test(t, func(t *testing.T) {
			_, closed := ask(t, request)
			<-time.After(10 * time.Second)
			synctest.Wait()
			select {
			case <-closed:
			default:
				t.Errorf("the connection is open: %q", request)
			}
		})
	}
}

// A stream on which nothing is sent for long goes on.
func TestAStreamThatIsReadGoesOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c, _ := ask(t, "GET /v1/events HTTP/1.1\r\nHost: agent\r\n\r\n")
		lines := bufio.NewReader(c)
		for signs := 0; signs < 3; {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("it was told %d times that the agent is there, and then %v", signs, err)
			}
			if line == ": still here\n" {
				signs++
			}
		}
	})
}
