// Package proxy carries TCP connections from an address to another one, over a network that has
// weather: data is late, stalls as if a segment had been lost, or is held back while the way is
// cut. It stands for netem where the kernel has none, and needs no rights.
//
// What TCP promises holds: nothing is lost, and nothing overtakes what was sent before it on the
// same connection. A cut differs from a real one: a new connection is accepted by the proxy, and
// only then gets no answer; the sender's kernel is told that the proxy has got the data, so it does
// not wait before it sends again, and all comes at once when the cut is mended.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Weather is what happens to each piece of data, as it is read from its sender.
type Weather struct {
	Jitter time.Duration // a piece is late by up to this
	Stalls float64       // the share of pieces that are late by Stall, too
	Stall  time.Duration
}

// delay is by how much the next piece is late.
func (w Weather) delay() time.Duration {
	var d time.Duration
	if w.Jitter > 0 {
		d = rand.N(w.Jitter)
	}
	if w.Stalls > 0 && rand.Float64() < w.Stalls {
		d += w.Stall
	}
	return d
}

// Proxy is a way from one address to another.
type Proxy struct {
	weather  Weather
	target   string
	listener net.Listener
	ctx      context.Context // the life of the proxy's goroutines
	end      context.CancelFunc
	running  sync.WaitGroup

	mu   sync.Mutex
	open chan struct{} // closed while data passes
}

// Listen opens a way from an address, which may have port 0, to a target, until the context ends.
// The caller must Close it.
func Listen(ctx context.Context, address, target string, w Weather) (*Proxy, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("a proxy to %s: %w", target, err)
	}
	ctx, end := context.WithCancel(ctx)
	p := &Proxy{
		weather:  w,
		target:   target,
		listener: listener,
		ctx:      ctx,
		end:      end,
		open:     make(chan struct{}),
	}
	close(p.open)
	p.running.Go(p.accept)
	return p, nil
}

// Address is where the way begins.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Cut holds back all data, and every end of a connection, until Mend.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if isClosed(p.open) {
		p.open = make(chan struct{})
	}
}

// Mend lets pass what was held back, and what comes.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !isClosed(p.open) {
		close(p.open)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// pass waits until data passes. It reports false if the proxy is closed before that.
func (p *Proxy) pass() bool {
	for {
		p.mu.Lock()
		open := p.open
		p.mu.Unlock()
		select {
		case <-open:
			return true
		case <-p.ctx.Done():
			return false
		}
	}
}

// Close ends the way and every connection on it.
func (p *Proxy) Close() {
	p.end()
	_ = p.listener.Close()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for {
		from, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // the one who called has gone
		}
		p.running.Go(func() { p.carry(from) })
	}
}

// carry makes the second half of a connection, and carries data both ways until both have ended.
func (p *Proxy) carry(from net.Conn) {
	defer from.Close()
	if !p.pass() {
		return
	}
	to, err := new(net.Dialer).DialContext(p.ctx, "tcp", p.target)
	if err != nil {
		refuse(from)
		return
	}
	defer to.Close()
	stop := context.AfterFunc(p.ctx, func() { from.Close(); to.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { p.pump(from, to) })
	both.Go(func() { p.pump(to, from) })
	both.Wait()
}

// refuse has the caller's kernel see a reset, as if nobody listened.
func refuse(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}
