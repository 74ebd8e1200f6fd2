package transport

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Network is an in-memory network for tests: the same links as those of New, but without I/O and
// certificates. A process is what Join says, and the UIDs and addresses of a roster are believed;
// an empty address is none. A Network waits on channels and timers only, so it can be used in a
// synctest bubble. Set its fields before the first Join, and File before any.
type Network struct {
	Reconnect time.Duration // as in Config; zero means 100 ms
	// the latency from one process to another; nil means none. Order is kept.
	Delay  func(from, to string) time.Duration
	Logger *slog.Logger
	// the next processes' that join, as in Config
	File *RosterFile

	mu    sync.Mutex
	nodes map[string]*hub // the newest process of each name
	certs map[string]validity
	cuts  map[[2]string]bool
}

// NewNetwork returns a network on which all processes can reach each other.
func NewNetwork() *Network {
	return &Network{
		nodes: map[string]*hub{},
		certs: map[string]validity{},
		cuts:  map[[2]string]bool{},
	}
}

// Join adds a process without a state directory, as JoinWith does.
func (n *Network) Join(name string, incarnation uint64) Links {
	return n.JoinWith(name, incarnation, "")
}

// JoinWith adds a process with a state ID. A process of the same name that still runs is killed
// first, so that the new one is its next incarnation.
func (n *Network) JoinWith(name string, incarnation uint64, stateID string) Links {
	n.Kill(name)
	return n.Copy(name, incarnation, stateID)
}

// Copy adds a process, as JoinWith does, beside those of the same name that run. Others reach the
// newest only.
func (n *Network) Copy(name string, incarnation uint64, stateID string) Links {
	reconnect, log := n.Reconnect, n.Logger
	if reconnect == 0 {
		reconnect = 100 * time.Millisecond
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	joined := newHub(name, incarnation, stateID, reconnect, log)
	joined.file = n.File
	joined.dial = func(ctx context.Context, to Member) (*connection, error) {
		return n.dial(ctx, joined, to.Name)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[name] = joined
	return joined
}

// Certify replaces the certificate of a process. Links that are made from then on last no longer
// than the certificate. A process without a certificate is believed for ever.
func (n *Network) Certify(name string, from, until time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.certs[name] = validity{from, until}
}

// Kill ends a process as SIGKILL does: the kernel closes its links at once, and refuses later
// attempts. The Links of the process fall silent, but must still be closed.
func (n *Network) Kill(name string) {
	n.mu.Lock()
	killed := n.nodes[name]
	n.mu.Unlock()
	if killed != nil {
		killed.halt()
	}
}

// Cut silently loses everything that travels from a to b until Heal, including the news that a
// process was killed, which the other end then learns only after some time of silence. Links that
// are open stay open. While one direction is cut, no link can be made in either direction, as with
// TCP.
func (n *Network) Cut(a, b string) { n.setCut(a, b, true) }

// Heal undoes Cut. What was lost stays lost.
func (n *Network) Heal(a, b string) { n.setCut(a, b, false) }

func (n *Network) setCut(a, b string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cuts[[2]string{a, b}] = cut
}

func (n *Network) isCut(a, b string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cuts[[2]string{a, b}]
}

func (n *Network) delay(from, to string) time.Duration {
	if n.Delay == nil {
		return 0
	}
	return n.Delay(from, to)
}

func (n *Network) dial(ctx context.Context, from *hub, to string) (*connection, error) {
	if n.isCut(from.self, to) || n.isCut(to, from.self) {
		err := sleep(ctx, from.patience())
		return nil, &loss{evidence: Unreachable, cause: errors.Join(errors.New("no answer"), err)}
	}
	if err := sleep(ctx, n.delay(from.self, to)+n.delay(to, from.self)); err != nil {
		return nil, &loss{evidence: Unreachable, cause: err}
	}
	n.mu.Lock()
	target, own, peer := n.nodes[to], n.certs[from.self], n.certs[to]
	n.mu.Unlock()
	if own.over() || peer.over() {
		return nil, rejected(errors.New("a certificate has expired"))
	}
	near, far := newPipe(n, from.self, to, halfOpen(from.patience()))
	served := target != nil && target.start(func() {
		c := newConnection(target.ctx, far, far, maxFrame)
		c.own, c.peer = peer, own
		target.serve(from.self, target.uidOf(from.self), c)
	})
	if !served {
		return nil, &loss{evidence: Refused, cause: errors.New("no process listens at this address")}
	}
	c := newConnection(ctx, near, near, maxReply)
	c.own, c.peer = own, peer
	return c, nil
}

// uidOf returns the UID with which a process is admitted. A network without certificates believes
// it.
func (h *hub) uidOf(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.members[name].UID
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
