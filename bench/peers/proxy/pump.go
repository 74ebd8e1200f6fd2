package proxy

import (
	"net"
	"slices"
	"time"
)

// piece is data under way.
type piece struct {
	due  time.Time
	data []byte
}

// underWay is how many pieces of a connection may be under way in one direction; a sender of more
// waits.
const underWay = 256

// pump carries data in one direction until its sender ends it or either side breaks.
func (p *Proxy) pump(from, to net.Conn) {
	pieces := make(chan piece, underWay)
	p.running.Go(func() {
		defer close(pieces)
		buffer := make([]byte, 32<<10)
		for p.read(from, buffer, pieces) {
		}
	})
	broken := false
	for next := range pieces {
		if broken {
			continue // the reader must not be left waiting
		}
		broken = !p.deliver(next, to)
		if broken {
			from.Close()
		}
	}
	if !broken && p.pass() {
		end(to)
	}
}

// read reads a piece. It reports false when there will be none any more. Most pieces are small, and
// take no more memory than they need: garbage that is collected stops all proxies.
func (p *Proxy) read(from net.Conn, buffer []byte, pieces chan<- piece) bool {
	n, err := from.Read(buffer)
	if n > 0 {
		pieces <- piece{time.Now().Add(p.weather.delay()), slices.Clone(buffer[:n])}
	}
	return err == nil
}

// deliver writes a piece when it is due and the way is open.
func (p *Proxy) deliver(next piece, to net.Conn) bool {
	if wait := time.Until(next.due); wait > 0 {
		select {
		case <-time.After(wait):
		case <-p.ctx.Done():
			return false
		}
	}
	if !p.pass() {
		return false
	}
	_, err := to.Write(next.data)
	return err == nil
}

// end tells a receiver that its sender has ended.
func end(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.CloseWrite()
	}
}
