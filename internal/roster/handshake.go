package roster

import "net"

// handshakesAtOnce bounds the handshakes that a server computes at once; each takes a core for
// about a millisecond. When the agents of a large cluster come back, hundreds would be ready to run
// at any time, and whatever else the manager does, the renewal of its Lease above all, would wait
// behind them.
const handshakesAtOnce = 8

// handshake is a connection whose handshake takes turns with others. It has a turn while it
// computes, and none while it waits for its peer, so one that says nothing holds up nobody.
type handshake struct {
	net.Conn
	turns     chan struct{}
	cancelled <-chan struct{}
	hasTurn   bool
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
	select {
	case h.turns <- struct{}{}:
		h.hasTurn = true
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
	if h.hasTurn {
		h.hasTurn = false
		<-h.turns
	}
}
