package roster

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/delimited"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/roster/rosterpb"
)

// accepted is the manager's end of a connection. At rest it has one goroutine, its reader: there
// are tens of thousands of them. What is to be sent is sent by whoever has a reason to.
type accepted struct {
	server   *Server
	ctx      context.Context // the server's
	raw      net.Conn
	messages *delimited.Stream
	pace     *pace         // of the messages that are read
	name     identity.Name // in the certificate; zero: none was shown
	notAfter time.Time     // of the certificate
	joining  atomic.Bool   // a Join is under way

	delivery *delivery // nil before Follow; the reader's

	ending sync.Once
	over   atomic.Bool // nothing that arrives counts any more
}

// serve shakes hands and has the connection served, by another goroutine, because the handshake
// needs a far larger stack than a connection does for the hours that follow.
func (s *Server) serve(ctx context.Context, raw net.Conn, config *tls.Config) {
	shaking, cancel := context.WithTimeout(ctx, handshakeWithin)
	defer cancel()
	shake := s.shaking.Begin(raw, shaking.Done())
	conn := tls.Server(shake, config)
	err := conn.HandshakeContext(shaking)
	shake.End()
	if err != nil {
		raw.Close() // TLS has said why, if it could
		return
	}
	c := &accepted{
		server:   s,
		ctx:      ctx,
		raw:      raw,
		messages: delimited.New(conn, maxMessageSize),
	}
	if shown := conn.ConnectionState().PeerCertificates; len(shown) > 0 {
		c.name, _ = identity.NameOf(shown[0]) // the handshake has checked it
		c.notAfter = shown[0].NotAfter
		connlimit.Authenticate(raw, c.name.UID)
		c.pace = s.paces.begin(c.name.UID)
		c.isThere()
	} else {
		c.pace = newPace()
	}
	s.tasks.Go(c.run)
}

// run serves the connection until it ends.
func (c *accepted) run() {
	if c.name != (identity.Name{}) {
		defer c.server.paces.end(c.name.UID)
		defer c.server.strays.leave(c)
	}
	defer c.raw.Close()
	defer context.AfterFunc(c.ctx, func() { c.raw.Close() })()
	err := c.read()
	if c.delivery != nil {
		c.delivery.leave()
	}
	c.end(err)
	// what is unread when a connection is closed may take back what was said last
	c.allowSilence(lastWord)
	_, _ = io.Copy(io.Discard, c.raw)
}

// caller returns the process that the certificate names. The TLS handshake has verified the
// certificate, but it may have expired since.
func (c *accepted) caller() (identity.Name, error) {
	switch {
	case c.name == identity.Name{}:
		return identity.Name{}, refuse(rosterpb.Refusal_UNAUTHENTICATED,
			"a client certificate is required: Join with a token first")
	case c.server.Now().After(c.notAfter):
		return identity.Name{}, refuse(rosterpb.Refusal_UNAUTHENTICATED,
			"the certificate has expired: join with a token")
	}
	return c.name, nil
}

// read handles what arrives until the connection ends, or something ends it. What it waits with is
// kept small: each message is handled by a goroutine of its own, whose stack is gone afterwards. An
// agent that says more than its share is read more slowly, so that it reports more rarely: only its
// newest report counts.
func (c *accepted) read() error {
	c.allowSilence(idleWithin)
	//nolint:errcheck // as in allowSilence
	c.raw.SetWriteDeadline(time.Now().Add(idleWithin)) // TLS may answer before we do
	handled := make(chan error, 1)
	for {
		if err := c.messages.Await(); err != nil {
			return err
		}
		if err := c.pace.Wait(c.ctx); err != nil {
			return err
		}
		c.server.tasks.Go(func() { handled <- c.handle() })
		if err := <-handled; err != nil {
			return err
		}
		if c.delivery != nil {
			c.allowSilence(silentWithin)
		}
		if c.over.Load() {
			return nil
		}
	}
}

// handle reads the message that has come and does what it asks for.
func (c *accepted) handle() error {
	message, err := c.receive()
	switch {
	case c.over.Load():
		return net.ErrClosed
	case errors.Is(err, delimited.ErrInvalid):
		return refuse(rosterpb.Refusal_INVALID, "%v", err)
	case err != nil:
		return err
	}
	return c.take(message)
}

// receive returns the next message. Of a stranger it reads what a stranger may say.
func (c *accepted) receive() (*rosterpb.ToManager, error) {
	if c.name != (identity.Name{}) {
		message := new(rosterpb.ToManager)
		return message, c.messages.Receive(message)
	}
	said := new(rosterpb.ByStranger)
	if err := c.messages.Receive(said); err != nil {
		return nil, err
	}
	if join := said.GetJoin(); join != nil {
		return &rosterpb.ToManager{Message: &rosterpb.ToManager_Join{Join: join}}, nil
	}
	_, err := c.caller()
	return nil, err
}

// allowSilence bounds how long the agent may be silent from now on.
func (c *accepted) allowSilence(most time.Duration) {
	//nolint:errcheck // a connection that takes no deadline has ended
	c.raw.SetReadDeadline(time.Now().Add(most))
}

// take handles a message. An error ends the connection, and the agent is told a refusal.
func (c *accepted) take(message *rosterpb.ToManager) error {
	switch m := message.GetMessage().(type) {
	case *rosterpb.ToManager_Join:
		return c.join(m.Join)
	case *rosterpb.ToManager_Follow:
		if err := c.pace.WaitN(c.ctx, followCounts-1); err != nil {
			return err
		}
		return c.follow()
	case *rosterpb.ToManager_Report, *rosterpb.ToManager_Held, *rosterpb.ToManager_Ping:
		if c.delivery == nil {
			return refuse(rosterpb.Refusal_INVALID, "a Follow comes first")
		}
		return c.delivery.take(message)
	}
	return nil // of a newer agent
}

// send sends the agent a message. What it does not read in time ends the connection; each message
// that waits for the one before begins the time anew.
func (c *accepted) send(m *rosterpb.ToAgent) error {
	if c.over.Load() {
		return net.ErrClosed
	}
	//nolint:errcheck // as above
	c.raw.SetWriteDeadline(time.Now().Add(writeWithin))
	err := c.messages.Send(m)
	if err != nil {
		c.raw.Close()
	}
	return err
}

// end ends the connection for a reason, of which the agent is told a refusal. Only the first one
// counts. The reader closes it when the agent has, or after lastWord.
func (c *accepted) end(reason error) {
	c.ending.Do(func() {
		c.over.Store(true)
		//nolint:errcheck // as above
		c.raw.SetDeadline(time.Now().Add(lastWord))
		if codeOf(reason) == rosterpb.Refusal_UNKNOWN || c.messages.Send(&rosterpb.ToAgent{
			Message: &rosterpb.ToAgent_Ended{Ended: refusalOf(reason)},
		}) != nil {
			c.raw.Close()
		}
	})
}

// endSoon is end for those who must not wait.
func (c *accepted) endSoon(reason error) { c.server.tasks.Go(func() { c.end(reason) }) }
