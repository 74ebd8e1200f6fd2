package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/connlimit"
	"github.com/podesta-dev/podesta/internal/identity"
	"github.com/podesta-dev/podesta/internal/transport/linkpb"
)

const (
	maxReply     = maxFrame + 64 // a reply may hold a frame
	handshakeMax = 5 * time.Second
	// what a process may send before its certificate is accepted; that needs below 4 KiB. What it
	// sends at once after it may be read with it, as far as that goes
	handshakeBytes = 8 << 10
)

// Config configures New. All fields but StateID and Logger are required.
type Config struct {
	Listener net.Listener // receives links from other processes; Close closes it
	// must hold a certificate and the trust before links can be made, but not yet for New
	Keyring     *identity.Keyring
	Self        identity.Name
	Incarnation uint64 // grows with every start of this process
	// identifies the state directory, at most 64 bytes of printable ASCII; empty if there is none
	StateID   string
	Reconnect time.Duration // the initial value of Pace
	Logger    *slog.Logger
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
	w.listener = newListener(c.Listener, h.patience)
	h.wire = w
	h.start(func() {
		limits := connlimit.Limits{
			Bytes:      handshakeBytes,
			Unanswered: connlimit.HelloBytes,
			Within:     handshakeMax,
		}
		w.accept(connlimit.New(w.listener, limits), c.Keyring.PeerServer(w.admit))
	})
	return h
}

// tlsWire makes streams over TLS: those that others open, and those to others. A connection that
// carries a stream of another process carries this process's stream to it, too, where both allow
// that.
type tlsWire struct {
	hub      *hub
	self     identity.Name
	keyring  *identity.Keyring
	listener *listener
	shaking  connlimit.Handshakes // of those that others open

	mu     sync.Mutex
	all    map[*connection]struct{}
	latest map[string]*connection // by process: on which a stream of it was accepted last
	closed bool
}

func newTLSWire(h *hub, self identity.Name, keyring *identity.Keyring) *tlsWire {
	return &tlsWire{
		hub:     h,
		self:    self,
		keyring: keyring,
		shaking: connlimit.NewHandshakes(),
		all:     map[*connection]struct{}{},
		latest:  map[string]*connection{},
	}
}

func (w *tlsWire) close() {
	w.listener.closeAll()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for c := range w.all {
		c.raw.Close()
	}
}

// keep has a connection read from. It returns false, and closes it, if this process has ended.
func (w *tlsWire) keep(c *connection) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || !w.hub.start(c.read) {
		c.raw.Close()
		return false
	}
	w.all[c] = struct{}{}
	return true
}

// drop forgets a connection that has ended.
func (w *tlsWire) drop(c *connection) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, c)
	if w.latest[c.peer.Name] == c {
		delete(w.latest, c.peer.Name)
	}
}

// offer makes a connection the one that share uses.
func (w *tlsWire) offer(c *connection) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, open := w.all[c]; open {
		w.latest[c.peer.Name] = c
	}
}

// accept serves each connection in a goroutine of its own, until close.
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

// serve serves the stream of a process that the handshake has admitted, on the connection that it
// opened.
func (w *tlsWire) serve(raw net.Conn, config *tls.Config) {
	c, err := w.shake(raw, config)
	if err != nil {
		w.hub.log.Debug("connection refused", "from", raw.RemoteAddr(), "error", err)
		raw.Close()
		return
	}
	in := newIncoming(c)
	c.in = in
	if w.keep(c) {
		in.serve()
	}
}

func (w *tlsWire) shake(raw net.Conn, config *tls.Config) (*connection, error) {
	ctx, cancel := context.WithTimeout(w.hub.ctx, handshakeMax)
	defer cancel()
	turn := w.shaking.Begin(raw, ctx.Done())
	c := newConnection(w, raw, tls.Server(turn, config), false)
	shown := w.keyring.Leaf()
	err := c.secured.HandshakeContext(ctx)
	turn.End()
	if err != nil {
		return nil, err
	}
	leaf := c.secured.ConnectionState().PeerCertificates[0]
	from, err := identity.NameOf(leaf)
	if err != nil {
		return nil, err
	}
	connlimit.Authenticate(raw, from.UID)
	c.peer = Member{Name: from.Pod, UID: from.UID}
	// The certificate may have been replaced during the handshake. Then this is the one that ends
	// first.
	c.own, c.their = validityOf(w.keyring.Leaf()), validityOf(leaf)
	if shown != nil {
		c.own = c.own.within(validityOf(shown))
	}
	return c, c.reply(&linkpb.Reply{Reply: &linkpb.Reply_Welcome{Welcome: &linkpb.Welcome{}}})
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

func (w *tlsWire) open(ctx context.Context, to Member) (outbound, error) {
	c, err := w.dial(ctx, to, w.keyring.PeerClient(identity.Name{
		Namespace: w.self.Namespace,
		Group:     w.self.Group,
		Pod:       to.Name,
		UID:       to.UID,
	}))
	if err != nil {
		return nil, err
	}
	out := c.open(ctx)
	if out == nil {
		c.raw.Close()
		return nil, &loss{Rejected, errors.New("a certificate has expired since the handshake")}
	}
	if !w.keep(c) {
		out.Close()
		return nil, &loss{Unreachable, errors.New("this process ends")}
	}
	return out, nil
}

func (w *tlsWire) share(ctx context.Context, to Member) (outbound, error) {
	w.mu.Lock()
	c := w.latest[to.Name]
	w.mu.Unlock()
	if c != nil && c.peer.UID == to.UID {
		if out := c.open(ctx); out != nil {
			return out, nil
		}
	}
	return nil, errNotShared
}
