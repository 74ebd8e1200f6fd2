package transport

import (
	"net"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/rawconn"
)

// listener ends half-open connections, and can close all of them. The connlimit.Listener in front
// limits their number.
type listener struct {
	net.Listener
	patience func() time.Duration

	mu     sync.Mutex
	open   map[*acceptedConn]struct{}
	closed bool
}

func newListener(l net.Listener, patience func() time.Duration) *listener {
	return &listener{
		Listener: l,
		patience: patience,
		open:     map[*acceptedConn]struct{}{},
	}
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := l.take(raw); c != nil {
			return c, nil
		}
		raw.Close()
	}
}

// take returns nil once all connections are closed.
func (l *listener) take(raw net.Conn) net.Conn {
	limitBuffers(raw)
	if tcp, ok := raw.(*net.TCPConn); ok {
		//nolint:errcheck // otherwise the defaults apply, which are slower
		tcp.SetKeepAliveConfig(keepAlive(l.patience()))
		if sys, err := tcp.SyscallConn(); err == nil {
			control(l.patience())("", "", sys) //nolint:errcheck // likewise
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	c := &acceptedConn{Conn: rawconn.New(raw), listener: l}
	l.open[c] = struct{}{}
	return c
}

func (l *listener) closeAll() {
	l.Close() // closing twice is harmless
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for c := range l.open {
		c.Conn.Close()
	}
	clear(l.open)
}

type acceptedConn struct {
	net.Conn
	listener *listener
}

func (c *acceptedConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.open, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}
