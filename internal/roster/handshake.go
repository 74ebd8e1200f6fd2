package roster

import (
	"bufio"
	"net"
)

// handshakesAtOnce bounds the handshakes of each kind of turn that a server computes at once. When
// the agents of a large cluster come back, hundreds would be ready to run at any time, for half a
// millisecond each, and whatever else the manager does, the renewal of its Lease above all, would
// wait behind them.
const handshakesAtOnce = 4

// handshakeAhead is how much is read at a time, in bytes: what an agent says before it waits for
// the server. Where that has come in one piece it takes one turn.
const handshakeAhead = 4 << 10

// turns are those in which handshakes are computed. One that the server has answered does not wait
// behind those that it has not: when many come back, it would take longer than it may, and what was
// computed for it would have been computed for nothing.
type turns struct {
	unanswered chan struct{}
	answered   chan struct{}
}

func newTurns(ofEach int) turns {
	return turns{unanswered: make(chan struct{}, ofEach), answered: make(chan struct{}, ofEach)}
}

// handshake is a connection whose handshake takes turns with others. It has a turn while it
// computes, and none while it waits for its peer, so one that says nothing holds up nobody.
type handshake struct {
	net.Conn
	turns     turns
	cancelled <-chan struct{}
	ahead     *bufio.Reader // nil: the handshake is over, and all that was read ahead has been read
	answered  bool
	turn      chan struct{} // that it has; nil: none
	over      bool
}

func newHandshake(raw net.Conn, turns turns, cancelled <-chan struct{}) *handshake {
	return &handshake{
		Conn:      raw,
		turns:     turns,
		cancelled: cancelled,
		ahead:     bufio.NewReaderSize(raw, handshakeAhead),
	}
}

func (h *handshake) Read(p []byte) (int, error) {
	switch {
	case h.ahead != nil && h.ahead.Buffered() > 0:
		return h.ahead.Read(p)
	case h.over:
		h.ahead = nil // there are tens of thousands of connections
		return h.Conn.Read(p)
	}
	h.yield()
	if _, err := h.ahead.Peek(1); err != nil {
		return 0, err
	}
	turn := h.turns.unanswered
	if h.answered {
		turn = h.turns.answered
	}
	select {
	case turn <- struct{}{}:
		h.turn = turn
		return h.ahead.Read(p)
	case <-h.cancelled:
		return 0, net.ErrClosed
	}
}

// Write counts as an answer, also where it asks for another hello.
func (h *handshake) Write(p []byte) (int, error) {
	if !h.over {
		h.answered = true
	}
	return h.Conn.Write(p)
}

// end gives the turn back for good. Nobody else may read or write before it returns.
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
