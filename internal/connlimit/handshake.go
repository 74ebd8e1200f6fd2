package connlimit

import (
	"bufio"
	"net"
	"sync"
)

// HelloBytes is how much a client of TLS may send before the server answers it, with another hello
// if the server asks for that. One needs less than half. A server keeps a hello until the handshake
// is over, and a list of short names in it takes eight times as much memory as on the wire.
const HelloBytes = 4 << 10

// handshakesAtOnce bounds the handshakes of each kind of turn that a server computes at once, for
// half a millisecond each. When the agents of a large cluster come back, hundreds are ready at any
// time. Without the bound, everything else that the server does would wait behind them, above all
// the renewal of a lease. Strangers could do the same with handshakes that they never end.
const handshakesAtOnce = 4

// Handshakes hands out turns: a server computes a handshake only in its turn. Handshakes that the
// server has answered have turns of their own. Behind all the unanswered ones they would take
// longer than they may, and the server would have computed the answer in vain.
//
// Addresses alternate. However many handshakes one address begins, another address waits for one of
// them at a time. So a flood from a few addresses does not keep the others out, even if the server
// gets little of the CPU.
type Handshakes struct {
	unanswered *line
	answered   *line
}

// NewHandshakes returns Handshakes without any under way.
func NewHandshakes() Handshakes { return newHandshakes(handshakesAtOnce) }

func newHandshakes(ofEach int) Handshakes {
	return Handshakes{
		unanswered: newLine(ofEach),
		answered:   newLine(ofEach),
	}
}

// line is the queue of one kind of handshakes.
type line struct {
	taken chan struct{} // has an element for each turn that is taken

	mu        sync.Mutex
	addresses map[string]*inLine // with handshakes that wait
}

// inLine is an address with handshakes that wait. Only the first of them waits among the other
// addresses' first ones.
type inLine struct {
	waiting int
	first   chan struct{} // has an element while there is a first one
}

func newLine(atOnce int) *line {
	return &line{taken: make(chan struct{}, atOnce), addresses: map[string]*inLine{}}
}

// take waits for a turn. It returns false if cancelled is closed before.
func (l *line) take(address string, cancelled <-chan struct{}) bool {
	of := l.enter(address)
	defer l.leave(address)
	select {
	case of.first <- struct{}{}:
	case <-cancelled:
		return false
	}
	defer func() { <-of.first }()
	select {
	case l.taken <- struct{}{}:
		return true
	case <-cancelled:
		return false
	}
}

func (l *line) give() { <-l.taken }

func (l *line) enter(address string) *inLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.addresses[address]
	if of == nil {
		of = &inLine{first: make(chan struct{}, 1)}
		l.addresses[address] = of
	}
	of.waiting++
	return of
}

func (l *line) leave(address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of := l.addresses[address]
	if of.waiting--; of.waiting == 0 {
		delete(l.addresses, address)
	}
}

// Begin returns a connection whose handshake takes turns with others, until cancelled.
func (h Handshakes) Begin(raw net.Conn, cancelled <-chan struct{}) *Handshake {
	return &Handshake{
		Conn:      raw,
		turns:     h,
		address:   AddressOf(raw.RemoteAddr()),
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
	address   string
	cancelled <-chan struct{}
	ahead     *bufio.Reader // nil: the handshake is over, and all that was read ahead has been read
	answered  bool
	turn      *line // whose turn it has; nil: none
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
	if !turn.take(h.address, h.cancelled) {
		return 0, net.ErrClosed
	}
	h.turn = turn
	return h.ahead.Read(p)
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
		h.turn.give()
		h.turn = nil
	}
}
