package roster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/podesta-dev/podesta/internal/delimited"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/pathmtu"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// connection is one to the manager. One goroutine receives.
type connection struct {
	raw      net.Conn
	messages *delimited.Stream
	leave    func() bool // the connection no longer ends with the context
	proved   bool        // what accepted it has proved that it is the manager
	unproved bool        // it has shown that it is not
}

// connect opens a connection with these credentials, which ends with ctx. It returns nil if nobody
// is there, and a connection of no use with the reason if the handshake fails: between two managers
// all agents of a cluster try again and again, and to find nobody should cost them next to nothing.
func (c *Client) connect(ctx context.Context, keyring *identity.Keyring) (*connection, error) {
	raw, err := c.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to the manager: %w", err)
	}
	config := keyring.RosterClient()
	conn := &connection{raw: raw}
	conn.leave = context.AfterFunc(ctx, func() { raw.Close() })
	verify := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		err := verify(state)
		conn.proved, conn.unproved = err == nil, err != nil
		return err
	}
	secured := tls.Client(raw, config)
	conn.messages = delimited.New(secured, maxUpdateSize)
	ctx, cancel := context.WithTimeout(ctx, handshakeWithin)
	defer cancel()
	return conn, secured.HandshakeContext(ctx)
}

func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if c.Dial != nil {
		return c.Dial(ctx, c.Address)
	}
	return (&net.Dialer{Control: pathmtu.Control}).DialContext(ctx, "tcp", c.Address)
}

func (c *connection) close() {
	c.leave()
	c.raw.Close()
}

// send sends a message. What the manager does not read in time ends the connection.
func (c *connection) send(m *rosterpb.ToManager) error {
	//nolint:errcheck // a connection that takes no deadline has ended
	c.raw.SetWriteDeadline(time.Now().Add(writeWithin))
	err := c.messages.Send(m)
	if err != nil {
		c.raw.Close()
	}
	return err
}

// receive returns the next message, if one comes within most.
func (c *connection) receive(most time.Duration) (*rosterpb.ToAgent, error) {
	//nolint:errcheck // as above
	c.raw.SetReadDeadline(time.Now().Add(most))
	message := new(rosterpb.ToAgent)
	err := c.messages.Receive(message)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, fmt.Errorf("no word from the manager for %s: %w", most, err)
	case err != nil:
		return nil, fmt.Errorf("read from the manager: %w", err)
	case message.GetEnded() != nil:
		return nil, refusalError(message.GetEnded())
	}
	return message, nil
}

// join sends a Join and waits for the answer. Nobody else may receive meanwhile.
func (c *connection) join(ctx context.Context, r *rosterpb.JoinRequest) (*rosterpb.JoinResponse,
	error) {
	defer context.AfterFunc(ctx, func() { c.raw.Close() })()
	err := c.send(&rosterpb.ToManager{Message: &rosterpb.ToManager_Join{Join: r}})
	for err == nil {
		var message *rosterpb.ToAgent
		if message, err = c.receive(callTimeout); message.GetJoined() != nil {
			return message.GetJoined(), nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, err
}
