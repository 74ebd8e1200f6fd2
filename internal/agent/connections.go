package agent

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
)

// maxConnections bounds the connections to the app API that serve no stream.
const maxConnections = 128

// BoundConnections makes a server of the app API keep at most maxConnections open. For one more,
// the server closes the one that was used longest ago. So an app that leaves connections open can
// always ask again. Connections that serve streams do not count, because streams have a bound of
// their own.
func BoundConnections(server *http.Server) {
	c := &connections{}
	server.ConnState = c.used
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, streams{}, func() { c.leave(conn) })
	}
}

// streams is the context key of the function that beginStream calls.
type streams struct{}

// beginStream says that the request's connection serves a stream until the request ends.
func beginStream(ctx context.Context) {
	if leave, ok := ctx.Value(streams{}).(func()); ok {
		leave()
	}
}

// connections are the open connections of a server that serve no stream.
type connections struct {
	mu   sync.Mutex
	open []net.Conn // the one that was used last comes last
}

func (c *connections) used(conn net.Conn, state http.ConnState) {
	c.leave(conn)
	if state == http.StateClosed {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) == maxConnections {
		c.open[0].Close()
		c.open = slices.Delete(c.open, 0, 1)
	}
	c.open = append(c.open, conn)
}

func (c *connections) leave(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = slices.DeleteFunc(c.open, func(other net.Conn) bool { return other == conn })
}
