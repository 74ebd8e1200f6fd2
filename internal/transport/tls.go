package transport

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/identity"
)

const (
	handshakeMax = 5 * time.Second
	// what a process may send before its certificate is accepted; an agent needs less than 4 KiB
	handshakeBytes = 8 << 10
)

// Config configures New. All fields but StateID, RosterFile and Logger are required.
type Config struct {
	Listener net.Listener // receives links from other processes; Close closes it
	// must hold a certificate and the trust before links can be made, but not yet for New
	Keyring     *identity.Keyring
	Self        identity.Name
	Incarnation uint64 // grows with every start of this process
	// identifies the state directory, at most 64 bytes of printable ASCII; empty if there is none
	StateID    string
	RosterFile *RosterFile   // nil: the roster is a manager's, which is the same for all
	Reconnect  time.Duration // the initial value of Pace
	Logger     *slog.Logger
}

// New serves links on the listener and makes the links that it is told to make, over mutual TLS.
// Initially it admits no process and makes no link.
func New(c Config) Links {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if err := validateStateID(c.StateID); err != nil {
		c.Logger.Error("taking part without a state ID, because no process would accept this "+
			"one: delete the state directory's contents so that the agent creates a new ID",
			"error", err)
		c.StateID = ""
	}
	h := newHub(c.Self.Pod, c.Incarnation, c.StateID, c.Reconnect, c.Logger)
	w := newTLSWire(h, c.Self, c.Keyring)
	h.dial, h.file, h.signer = w.dial, c.RosterFile, signer{c.Keyring}
	h.start(func() {
		limits := connlimit.Limits{
			Bytes:      handshakeBytes,
			Unanswered: connlimit.HelloBytes,
			Within:     handshakeMax,
		}
		w.accept(connlimit.New(listener{c.Listener, h.patience}, limits),
			c.Keyring.PeerServer(w.admit))
	})
	return h
}

// tlsWire makes streams over TLS: those that others open, and those to others.
type tlsWire struct {
	hub     *hub
	self    identity.Name
	keyring *identity.Keyring
	shaking connlimit.Handshakes // of those that others open
}

func newTLSWire(h *hub, self identity.Name, keyring *identity.Keyring) *tlsWire {
	return &tlsWire{
		hub:     h,
		self:    self,
		keyring: keyring,
		shaking: connlimit.NewHandshakes(),
	}
}

// accept serves each connection in its own goroutine, until Close.
func (w *tlsWire) accept(from *connlimit.Listener, config *tls.Config) {
	err := from.Each(w.hub.ctx, w.hub.log, func(raw net.Conn) {
		if !w.hub.start(func() { w.serve(raw, config) }) {
			raw.Close()
		}
	})
	if err != nil {
		w.hub.log.Error("stopped serving links, so other processes cannot reach this one: restart the "+
			"agent", "error", err)
	}
}

// serve shakes hands, and serves the stream of a process that the handshake has admitted.
func (w *tlsWire) serve(raw net.Conn, config *tls.Config) {
	ctx, cancel := context.WithTimeout(w.hub.ctx, handshakeMax)
	defer cancel()
	turn := w.shaking.Begin(raw, ctx.Done())
	secured := tls.Server(turn, config)
	err := secured.HandshakeContext(ctx)
	turn.End()
	if err != nil {
		w.hub.log.Debug("connection refused", "from", raw.RemoteAddr(), "error", err)
		raw.Close()
		return
	}
	cancel()
	leaf := secured.ConnectionState().PeerCertificates[0]
	from, err := identity.NameOf(leaf)
	if err != nil { // the handshake has checked it
		raw.Close()
		return
	}
	connlimit.Authenticate(raw, from.UID)
	c := newConnection(w.hub.ctx, raw, secured, maxFrame)
	c.peer = validityOf(leaf)
	if c.accept(nil) != nil {
		c.Close()
		return
	}
	w.hub.serve(from.Pod, from.UID, c)
}

// admit decides during the handshake whether the name in a certificate is admitted.
func (w *tlsWire) admit(n identity.Name) error {
	err := w.hub.admits(n.Pod, n.UID)
	if n.Namespace != w.self.Namespace || n.Group != w.self.Group {
		err = refuse(unwanted, "%s is not a process of the group %s/%s", n, w.self.Namespace,
			w.self.Group)
	}
	if err != nil {
		w.hub.log.Debug("connection refused", "from", n, "error", err)
	}
	return err
}
