package main

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// proxy stands between the manager and an API server that is slow: what the API server sends
// arrives later, in order and at the same rate.
type proxy struct {
	listener net.Listener
	to       string
	delay    time.Duration
	open     sync.WaitGroup
	cancel   context.CancelFunc
}

// chunk is some bytes, and when they arrive.
type chunk struct {
	bytes []byte
	due   time.Time
}

// under way on one connection, of at most 16 KiB each
const chunks = 256

func newProxy(ctx context.Context, to string, delay time.Duration) (*proxy, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &proxy{
		listener: listener,
		to:       to,
		delay:    delay,
		cancel:   cancel,
	}
	p.open.Go(func() { p.serve(ctx) })
	return p, nil
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) close() {
	p.cancel()
	p.listener.Close()
	p.open.Wait()
}

func (p *proxy) serve(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // it was closed
		}
		p.open.Go(func() { p.carry(ctx, client) })
	}
}

// carry joins two connections until one of them ends.
func (p *proxy) carry(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(ctx, "tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	stop := context.AfterFunc(ctx, func() { client.Close(); server.Close() })
	defer stop()
	under := make(chan chunk, chunks)
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(server, client) // either end may end
		server.Close()
	})
	both.Go(func() { deliver(client, under) })
	for {
		bytes := make([]byte, 16<<10)
		n, err := server.Read(bytes)
		if n > 0 {
			under <- chunk{bytes: bytes[:n], due: time.Now().Add(p.delay)}
		}
		if err != nil {
			break
		}
	}
	close(under)
	both.Wait()
}

// deliver writes each chunk when it is due, until there are no more. When the connection ends it
// drops them.
func deliver(to net.Conn, under <-chan chunk) {
	defer to.Close()
	broken := false
	for c := range under {
		if broken {
			continue
		}
		if wait := time.Until(c.due); wait > 0 {
			<-time.After(wait)
		}
		_, err := to.Write(c.bytes)
		broken = err != nil
	}
}
