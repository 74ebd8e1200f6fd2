package connlimit

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/test/bubble"
)

// full is a listener of a process that has no more files, but for the connections that are free.
type full struct {
	free   chan net.Conn
	closed chan struct{}
	tried  atomic.Int64
}

func (f *full) Accept() (net.Conn, error) {
	f.tried.Add(1)
	select {
	case <-f.closed:
		return nil, net.ErrClosed
	case c := <-f.free:
		return c, nil
	default:
		return nil, syscall.EMFILE
	}
}

func (f *full) Close() error {
	select {
	case <-f.closed:
	default:
		close(f.closed)
	}
	return nil
}

func (*full) Addr() net.Addr { return &net.TCPAddr{} }

// A server without files tries again, seldom, and serves when there are some. It ends with its
// context, or when its listener is closed, which is an error.
func TestEachConnectionIsServed(t *testing.T) {
	for what, want := range map[string]error{"its context": nil, "its listener": net.ErrClosed} {
		t.Run(what, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				at := &full{free: make(chan net.Conn, 1), closed: make(chan struct{})}
				served, ended := make(chan net.Conn), make(chan error, 1)
				go func() {
					ended <- New(at, some).Each(ctx, slog.New(slog.DiscardHandler), func(c net.Conn) {
						served <- c
					})
				}()
				<-time.After(time.Minute)
				if n := at.tried.Load(); n < 60 || n > 300 {
					t.Errorf("it tried %d times in a minute", n)
				}
				ours, theirs := net.Pipe()
				defer theirs.Close()
				at.free <- ours
				(<-served).Close()
				if want == nil {
					cancel()
				} else {
					at.Close()
				}
				if err := <-ended; !errors.Is(err, want) {
					t.Errorf("it ended with %v, want %v", err, want)
				}
			})
		})
	}
}
