// Package proxy carries TCP connections from an address to another one, and can be cut. It stands
// for netem where the kernel has none, and needs no rights.
//
// What TCP promises holds: nothing is lost, and nothing overtakes what was sent before it on the
// same connection. A cut differs from a real one: a new connection is accepted by the proxy, and
// only then gets no answer; the sender's kernel is told that the proxy has got the data, so it does
// not wait before it sends again, and all comes at once when the cut is mended.
package proxy

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// Proxy is a way from one address to another.
type Proxy struct {
	target   string
	listener net.Listener
	ctx      context.Context // the life of the proxy's goroutines
	end      context.CancelFunc
	running  sync.WaitGroup

	mu   sync.Mutex
	open chan struct{} // closed while data passes
}

// Listen opens a way from a port of 127.0.0.1 to a target. The caller must Close it.
func Listen(ctx context.Context, target string) (*Proxy, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("a proxy to %s: %w", target, err)
	}
	p := &Proxy{target: target, listener: listener, open: make(chan struct{})}
	p.ctx, p.end = context.WithCancel(context.WithoutCancel(ctx))
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
	p.open = make(chan struct{})
}

// Mend lets pass what was held back, and what comes. There must have been a Cut before it.
func (p *Proxy) Mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.open)
}

// pass waits until data passes. It reports false if the proxy is closed before that.
func (p *Proxy) pass() bool {
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

// Close ends the way and every connection on it.
func (p *Proxy) Close() {
	p.end()
	_ = p.listener.Close()
	p.running.Wait()
}

func (p *Proxy) accept() {
	for p.ctx.Err() == nil {
		if from, err := p.listener.Accept(); err == nil {
			p.running.Go(func() { p.carry(from) })
		}
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
		if t, ok := from.(*net.TCPConn); ok {
			_ = t.SetLinger(0) // the caller's kernel sees a reset, as if nobody listened
		}
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

// pump carries data in one direction until its sender ends it or either side breaks.
func (p *Proxy) pump(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if !p.pass() {
			return
		}
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				from.Close()
				return
			}
		}
		if err != nil {
			if t, ok := to.(*net.TCPConn); ok {
				_ = t.CloseWrite()
			}
			return
		}
	}
}
