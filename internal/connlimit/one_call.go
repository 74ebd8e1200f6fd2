package connlimit

import (
	"context"
	"net"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// Single is for grpc.InTapHandle of a server behind a Listener: it refuses a stranger's call while
// another one of the same connection is under way, before anything is kept for it. gRPC itself
// bounds all connections alike.
func Single(ctx context.Context, _ *tap.Info) (context.Context, error) {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return ctx, nil
	}
	a, ok := from.Addr.(peerAddress)
	if !ok {
		return ctx, nil
	}
	if stranger, _ := a.of.allowance(); !stranger {
		return ctx, nil
	}
	if a.of.call != nil && a.of.call.Err() == nil {
		return nil, status.Error(codes.ResourceExhausted,
			"a connection without a certificate has one call at a time")
	}
	a.of.call = ctx
	return ctx, nil
}

// peerAddress is a connection's address, with the connection that it belongs to.
type peerAddress struct {
	net.Addr
	of *connection
}

// RemoteAddr is that of the connection.
func (c *connection) RemoteAddr() net.Addr { return peerAddress{c.Conn.RemoteAddr(), c} }
