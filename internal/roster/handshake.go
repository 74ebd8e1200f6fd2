package roster

import "net"

// handshakesAtOnce bounds the handshakes of each kind that a server computes at once; each takes a
// core for about half a millisecond. When the agents of a large cluster come back, hundreds would
// be ready to run at any time, and whatever else the manager does, the renewal of its Lease above
// all, would wait behind them.
const handshakesAtOnce = 4

// turns are those in which handshakes are computed. One that has begun does not wait behind those
// that have yet to: when many come back, it would take longer than it may, and what was computed
// for it would have been computed for nothing.
type turns struct {
	hello  chan struct{} // of those that have yet to begin
	finish chan struct{} // of those that have begun
}

func newTurns(ofEach int) turns {
	return turns{hello: make(chan struct{}, ofEach), finish: make(chan struct{}, ofEach)}
}

// handshake is a connection whose handshake takes turns with others. It has a turn while it
// computes, and none while it waits for its peer, so one that says nothing holds up nobody.
type handshake struct {
	net.Conn
	turns     turns
	cancelled <-chan struct{}
	begun     bool          // its peer has said hello
	turn      chan struct{} // that it has; nil: none
	over      bool
}

func (h *handshake) Read(p []byte) (int, error) {
	if h.over {
		return h.Conn.Read(p)
	}
	h.yield()
	n, err := h.Conn.Read(p)
	if err != nil {
		return n, err
	}
	turn := h.turns.hello
	if h.begun {
		turn = h.turns.finish
	}
	select {
	case turn <- struct{}{}:
		h.turn, h.begun = turn, true
		return n, nil
	case <-h.cancelled:
		return 0, net.ErrClosed
	}
}

// end gives the turn back for good. Nobody else may read before it returns.
func (h *handshake) end() {
	h.yield()
	h.over = true
}

func (h *handshake) yield() {
	if h.turn != nil {
		<-h.turn
		h.turn = nil
	}
}
