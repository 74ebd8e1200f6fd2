package roster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	"github.com/podesta-dev/podesta/internal/identity"
)

// connection is one to the manager, with these credentials.
type connection struct {
	*grpc.ClientConn

	opened   chan net.Conn // holds what gRPC has not asked for yet; capacity 1
	unproved atomic.Bool   // what accepted it did not prove that it is the manager
}

// connect opens a connection, and prepares it for these credentials. It is opened before gRPC makes
// anything: between two managers, all agents of a cluster try again and again, and a connection
// that is refused should cost them next to nothing.
//
// The client does not use gRPC's own reconnecting: Run starts a new subscription when one ends.
func (c *Client) connect(ctx context.Context, keyring *identity.Keyring) (*connection, error) {
	opened, err := c.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the manager: %w", err)
	}
	conn := &connection{opened: make(chan net.Conn, 1)}
	conn.opened <- opened
	config := keyring.RosterClient()
	verify := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		err := verify(state)
		conn.unproved.Store(err != nil)
		return err
	}
	conn.ClientConn, err = grpc.NewClient("passthrough:///"+c.Address,
		grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return conn.take() }),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time:    pingInterval,
			Timeout: pingTimeout,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxUpdateSize)),
		grpc.WithDisableServiceConfig(), grpc.WithDisableRetry(),
		grpc.WithReadBufferSize(4<<10), grpc.WithWriteBufferSize(4<<10))
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	return conn, nil
}

// take hands out what was opened, to gRPC and once.
func (c *connection) take() (net.Conn, error) {
	select {
	case opened := <-c.opened:
		return opened, nil
	default:
		return nil, errors.New("a connection is handed out once")
	}
}

// Close closes it, whether or not gRPC has asked for it.
func (c *connection) Close() {
	_ = c.ClientConn.Close() // it fails if it was closed before
	if opened, err := c.take(); err == nil {
		_ = opened.Close() // nothing was sent on it
	}
}

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if c.Dial != nil {
		return c.Dial(ctx, c.Address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", c.Address)
}
