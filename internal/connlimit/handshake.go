package connlimit

import (
	"bufio"
	"net"
)

// HelloBytes is how much a client of TLS may send before the server answers it, with another hello
// if the server asks for that. One needs less than half. A server keeps a hello until the handshake
// is over, and a list of short names in it takes eight times as much memory as on the wire.
const HelloBytes = 4 << 10

// handshakesAtOnce bounds the handshakes of each kind of turn that a server computes at once. When
// the agents of a large cluster come back, hundreds would be ready to run at any time, for half a
// millisecond each, and whatever else the server does, the renewal of a lease above all, would wait
// behind them. Strangers could have the same effect, with handshakes that they begin and never end.
const handshakesAtOnce = 4

// Handshakes are the turns in which a server computes them. One that the server has answered does
// not wait behind those that it has not: when many come back, it would take longer than it may, and
// what was computed for it would have been computed for nothing.
type Handshakes struct {
	unanswered chan struct{}
	answered   chan struct{}
}

// NewHandshakes returns turns of which none is taken.
func NewHandshakes() Handshakes { return newHandshakes(handshakesAtOnce) }

func newHandshakes(ofEach int) Handshakes {
	return Handshakes{
		unanswered: make(chan struct{}, ofEach),
		answered:   make(chan struct{}, ofEach),
	}
}

// Begin returns a connection whose handshake takes turns with others, until cancelled.
func (h Handshakes) Begin(raw net.Conn, cancelled <-chan struct{}) *Handshake {
	return &Handshake{
		Conn:      raw,
		turns:     h,
		cancelled: cancelled,
		ahead:     bufio.NewReaderSize(raw, HelloBytes),
	}
}

// Handshake is a connection whose handshake takes turns. It has a turn while it computes, and none
// while it waits for its peer, so one that says nothing holds up nobody. What an agent says before
// it waits for the server is read at once: where that has come in one piece it takes one turn.
type Handshake struct {
	net.Conn
	turns     Handshakes
	cancelled <-chan struct{}
	ahead     *bufio.Reader // nil: the handshake is over, and all that was read ahead has been read
	answered  bool
	turn      chan struct{} // that it has; nil: none
	over      bool
}

func (h *Handshake) Read(p []byte) (int, error) {
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
func (h *Handshake) Write(p []byte) (int, error) {
	if !h.over {
		h.answered = true
	}
	return h.Conn.Write(p)
}

// End gives the turn back for good. Nobody else may read or write before it returns.
func (h *Handshake) End() {
	h.yield()
	h.over = true
}

func (h *Handshake) yield() {
	if h.turn != nil {
		<-h.turn
		h.turn = nil
	}
}
