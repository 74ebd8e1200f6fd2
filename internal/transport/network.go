package transport

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// Network is an in-memory network for tests: the same links as those of New, but without I/O and
// certificates. A process is what Join says, and the UIDs and addresses of a roster are believed;
// an empty address is none. A Network waits on channels and timers only, so it can be used in a
// synctest bubble. Set its fields before the first Join.
type Network struct {
	Reconnect time.Duration // as in Config; zero means 100 ms
	// the latency from one process to another; nil means none. Order is kept.
	Delay  func(from, to string) time.Duration
	Logger *slog.Logger

	mu    sync.Mutex
	nodes map[string]*node // the processes that run
	certs map[string]validity
	cuts  map[[2]string]bool
}

// node is a process on the network.
type node struct {
	network *Network
	hub     *hub
	pipes   map[*pipe]end // the pipes that begin or end here; guarded by the network's mutex
}

// NewNetwork returns a network on which all processes can reach each other.
func NewNetwork() *Network {
	return &Network{
		nodes: map[string]*node{},
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
	reconnect, log := n.Reconnect, n.Logger
	if reconnect == 0 {
		reconnect = 100 * time.Millisecond
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	joined := &node{
		network: n,
		hub:     newHub(name, incarnation, stateID, reconnect, log),
		pipes:   map[*pipe]end{},
	}
	joined.hub.wire = joined
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[name] = joined
	return joined.hub
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
		killed.hub.halt()
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

func (from *node) open(ctx context.Context, to Member) (outbound, error) {
	n, name := from.network, from.hub.self
	if n.isCut(name, to.Name) || n.isCut(to.Name, name) {
		err := sleep(ctx, from.hub.patience())
		return nil, &loss{Unreachable, errors.Join(errors.New("no answer"), err)}
	}
	if err := sleep(ctx, n.delay(name, to.Name)+n.delay(to.Name, name)); err != nil {
		return nil, &loss{Unreachable, err}
	}
	p, target, err := n.plug(from, to.Name)
	if err != nil {
		return nil, err
	}
	if !target.hub.start(func() { p.serve(target) }) {
		p.end(server, &loss{Closed, errEnded})
	}
	return clientEnd{p, ctx}, nil
}

// share fails: on this network a stream costs nothing.
func (from *node) share(context.Context, Member) (outbound, error) { return nil, errNotShared }

func (p *pipe) serve(at *node) {
	from := p.names[client]
	err := at.hub.serve(from, at.hub.uidOf(from), p.certified[client], serverEnd{p})
	if err != nil || !p.finish(at.hub.ctx) {
		p.end(server, toLoss(err))
	}
}

var errEnded = errors.New("the process has ended")

// plug makes a pipe and records it at both ends, so that the end of either breaks it.
func (n *Network) plug(from *node, to string) (*pipe, *node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	target := n.nodes[to]
	if target == nil || n.nodes[from.hub.self] != from {
		return nil, nil, &loss{Refused, errors.New("no process listens at this address")}
	}
	certified := [2]validity{n.certs[from.hub.self], n.certs[to]}
	if certified[client].over() || certified[server].over() {
		return nil, nil, &loss{Rejected, errors.New("a certificate has expired")}
	}
	p := newPipe(n, halfOpen(from.hub.patience()), from.hub.self, to)
	p.certified = certified
	from.pipes[p] = client
	target.pipes[p] = server
	p.sides[client].unplug = func() { n.unplug(from, p) }
	p.sides[server].unplug = func() { n.unplug(target, p) }
	return p, target, nil
}

func (n *Network) unplug(at *node, p *pipe) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(at.pipes, p)
}

// close removes the process from the network.
func (from *node) close() {
	n := from.network
	n.mu.Lock()
	if n.nodes[from.hub.self] == from {
		delete(n.nodes, from.hub.self)
	}
	pipes := maps.Clone(from.pipes)
	n.mu.Unlock()
	for p, end := range pipes {
		p.end(end, &loss{Closed, errEnded})
	}
}

var evidenceIn = map[refusalKind]Evidence{
	malformed: Rejected,
	unwanted:  Rejected,
	leaving:   Left,
	ending:    Closed,
}

// toLoss converts a receiver's reason for ending a stream into what the sender sees of it.
func toLoss(err error) error {
	if err == nil {
		return nil
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return &loss{evidenceIn[r.kind], err}
	}
	return &loss{Closed, err}
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
