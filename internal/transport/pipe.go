package transport

import (
	"bytes"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// pipeEnd is one end of a connection on the network. What is written arrives after the network's
// delay and in order, unless that direction is cut.
type pipeEnd struct {
	network  *Network
	from, to string // it writes to the end of the process to
	silence  time.Duration
	peer     *pipeEnd
	arriving chan parcel
	arrived  []byte // of the last parcel, what is not read yet

	ended         chan struct{}
	once          sync.Once
	why           error // what Read and Write return; valid once ended is closed
	reads, writes deadline
}

// parcel is a message in transit until due.
type parcel struct {
	content []byte
	due     time.Time
}

// newPipe returns the two ends of a connection. An end gives up after so long a silence.
func newPipe(n *Network, from, to string, silence time.Duration) (near, far *pipeEnd) {
	end := func(from, to string) *pipeEnd {
		return &pipeEnd{
			network:  n,
			from:     from,
			to:       to,
			silence:  silence,
			arriving: make(chan parcel, queueLength),
			ended:    make(chan struct{}),
			reads:    deadline{passed: make(chan struct{})},
			writes:   deadline{passed: make(chan struct{})},
		}
	}
	near, far = end(from, to), end(to, from)
	near.peer, far.peer = far, near
	return near, far
}

// isCut reports whether everything that this end sends is lost.
func (p *pipeEnd) isCut() bool { return p.network.isCut(p.from, p.to) }

// Write blocks while too much is in transit.
func (p *pipeEnd) Write(b []byte) (int, error) {
	passed := p.writes.wait()
	switch {
	case isClosed(p.ended):
		return 0, p.why
	case isClosed(passed):
		return 0, os.ErrDeadlineExceeded
	case p.isCut():
		return len(b), nil
	}
	due := time.Now().Add(p.network.delay(p.from, p.to))
	select {
	case p.peer.arriving <- parcel{bytes.Clone(b), due}:
		return len(b), nil
	case <-p.ended:
		return 0, p.why
	case <-passed:
		return 0, os.ErrDeadlineExceeded
	}
}

// Read waits for the next parcel, and until it is due.
func (p *pipeEnd) Read(b []byte) (int, error) {
	passed := p.reads.wait()
	if isClosed(passed) {
		return 0, os.ErrDeadlineExceeded
	}
	if len(p.arrived) == 0 {
		select {
		case next := <-p.arriving:
			p.arrived = next.content
			if !p.pass(time.Until(next.due), passed) {
				return 0, p.over()
			}
		case <-p.ended:
			return 0, p.why
		case <-passed:
			return 0, os.ErrDeadlineExceeded
		}
	}
	n := copy(b, p.arrived)
	p.arrived = p.arrived[n:]
	return n, nil
}

// pass lets time pass. It returns false if nothing more is to be read.
func (p *pipeEnd) pass(d time.Duration, passed <-chan struct{}) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.ended:
	case <-passed:
	}
	return false
}

func (p *pipeEnd) over() error {
	if isClosed(p.ended) {
		return p.why
	}
	return os.ErrDeadlineExceeded
}

// Close ends the connection: for the other end now, or, if that direction is cut, when it has
// received nothing for too long. Messages in transit may be lost.
func (p *pipeEnd) Close() error {
	p.end(net.ErrClosed)
	if p.isCut() {
		time.AfterFunc(p.silence, func() { p.peer.end(os.ErrDeadlineExceeded) })
	} else {
		p.peer.end(io.EOF)
	}
	return nil
}

// end keeps the first reason.
func (p *pipeEnd) end(why error) {
	p.once.Do(func() {
		p.why = why
		close(p.ended)
	})
}

// SetDeadline is that of net.Conn, as is SetReadDeadline.
func (p *pipeEnd) SetDeadline(t time.Time) error {
	p.reads.set(t)
	p.writes.set(t)
	return nil
}

// SetReadDeadline also ends a Read that waits.
func (p *pipeEnd) SetReadDeadline(t time.Time) error {
	p.reads.set(t)
	return nil
}

// deadline has a channel that is closed when it has passed.
type deadline struct {
	mu     sync.Mutex
	timer  *time.Timer
	passed chan struct{}
}

func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passed
}

// set replaces the deadline. A Read or Write that waits notices that it has passed.
func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	if isClosed(d.passed) {
		d.passed = make(chan struct{})
	}
	passed := d.passed
	shut := sync.OnceFunc(func() { close(passed) })
	if left := time.Until(t); left > 0 {
		d.timer = time.AfterFunc(left, shut)
	} else {
		shut()
	}
}
