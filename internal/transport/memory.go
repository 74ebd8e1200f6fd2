package transport

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"
)

// Network is an in-memory network for tests: the same links as New makes, without I/O and without certificates (a process is
// whom Join says, a roster's UIDs and addresses are believed; an empty address is none). It waits on channels and timers only,
// so it can be used in a synctest bubble. The fields are set before the first Join.
type Network struct {
	Reconnect time.Duration                       // as in Config; 100 ms if it is zero
	Delay     func(from, to string) time.Duration // of what travels between the two; nil: none. Order is kept.
	Logger    *slog.Logger

	mu    sync.Mutex
	nodes map[string]*node // those that live
	certs map[string]validity
	cuts  map[[2]string]bool
}

// node is a process on the network.
type node struct {
	network *Network
	hub     *hub
	pipes   map[*pipe]end // that begin or end here; guarded by the network's mutex
}

// NewNetwork makes a network where every two processes can reach each other.
func NewNetwork() *Network {
	return &Network{nodes: map[string]*node{}, certs: map[string]validity{}, cuts: map[[2]string]bool{}}
}

// Join adds a process without a state directory, as JoinWith does.
func (n *Network) Join(name string, incarnation uint64) Links {
	return n.JoinWith(name, incarnation, "")
}

// JoinWith adds a process with the identity of its state directory. One of the same name that still lives is killed first, so
// that this one is its next life.
func (n *Network) JoinWith(name string, incarnation uint64, memory string) Links {
	n.Kill(name)
	reconnect, log := n.Reconnect, n.Logger
	if reconnect == 0 {
		reconnect = 100 * time.Millisecond
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	joined := &node{network: n, hub: newHub(name, incarnation, memory, reconnect, log), pipes: map[*pipe]end{}}
	joined.hub.wire = joined
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes[name] = joined
	return joined.hub
}

// Certify gives a process a certificate, in place of the one that it had. Links that are made from then on live as long as
// that, at most. Without one a process is believed for ever.
func (n *Network) Certify(name string, from, until time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.certs[name] = validity{from, until}
}

// Kill ends a process as SIGKILL does: its links are closed by the kernel at once, and later attempts are refused. Its own
// Links fall silent; they are still to be closed.
func (n *Network) Kill(name string) {
	n.mu.Lock()
	killed := n.nodes[name]
	n.mu.Unlock()
	if killed != nil {
		killed.hub.halt()
	}
}

// Cut loses everything that travels from a to b, silently, until Heal: also that a process was killed, which the other end
// learns after some time of silence only. Links that are open stay open. While one direction is cut no link can be made in
// either, as with TCP.
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

func (p *pipe) serve(at *node) {
	from := p.names[client]
	err := at.hub.serve(from, at.hub.uidOf(from), p.certified[client], serverEnd{p})
	if err != nil || !p.finish(at.hub.ctx) {
		p.end(server, toLoss(err))
	}
}

var errEnded = errors.New("the process has ended")

// plug makes a pipe and notes it at both ends, so that the end of either breaks it.
func (n *Network) plug(from *node, to string) (*pipe, *node, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	target := n.nodes[to]
	if target == nil || n.nodes[from.hub.self] != from {
		return nil, nil, &loss{Refused, errors.New("nobody listens there")}
	}
	certified := [2]validity{n.certs[from.hub.self], n.certs[to]}
	if certified[client].over() || certified[server].over() {
		return nil, nil, &loss{Rejected, errors.New("a certificate has ended")}
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

// close takes the process off the network.
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

var evidenceIn = map[refusalKind]Evidence{malformed: Rejected, unwanted: Rejected, leaving: Left, ending: Closed}

// toLoss makes of why a receiver ended a stream what the sender sees of it.
func toLoss(err error) error {
	if err == nil {
		return nil
	}
	if r, ok := errors.AsType[*refusal](err); ok {
		return &loss{evidenceIn[r.kind], err}
	}
	return &loss{Closed, err}
}

// uidOf is the UID that a process is admitted with; a network without certificates believes it.
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
