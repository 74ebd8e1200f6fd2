package door

import (
	"context"
	"net"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// Single is for grpc.InTapHandle of a server behind a door: it refuses a stranger's call while
// another one of the same connection is under way, before anything is kept for it. gRPC itself
// bounds all connections alike.
func Single(ctx context.Context, _ *tap.Info) (context.Context, error) {
	from, ok := peer.FromContext(ctx)
	if !ok {
		return ctx, nil
	}
	a, ok := from.Addr.(visitor)
	if !ok {
		return ctx, nil
	}
	if stranger, _ := a.visit.allowance(); !stranger {
		return ctx, nil
	}
	if a.visit.call != nil && a.visit.call.Err() == nil {
		return nil, status.Error(codes.ResourceExhausted,
			"a connection without a certificate has one call at a time")
	}
	a.visit.call = ctx
	return ctx, nil
}

// visitor is a connection's address, with the visit that it belongs to.
type visitor struct {
	net.Addr
	visit *visit
}

// RemoteAddr is that of the connection.
func (v *visit) RemoteAddr() net.Addr { return visitor{v.Conn.RemoteAddr(), v} }
