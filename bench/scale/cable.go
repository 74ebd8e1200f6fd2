package main

import (
	"context"
	"net"
	"sync"
	"time"
)

// cable is a connection to the manager. It can be cut, as by a broken network, and frozen, as when
// a machine loses its power: then nothing passes any more, and the manager is not told.
type cable struct {
	net.Conn

	once   sync.Once
	frozen chan struct{} // closed when it is frozen
	ended  chan struct{} // closed when this end has been closed
}

func newCable(c net.Conn) *cable {
	return &cable{
		Conn:   c,
		frozen: make(chan struct{}),
		ended:  make(chan struct{}),
	}
}

func (c *cable) isFrozen() bool {
	select {
	case <-c.frozen:
		return true
	default:
		return false
	}
}

// Read returns what came before the cable was frozen.
func (c *cable) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if !c.isFrozen() {
		return n, err
	}
	<-c.ended
	return 0, net.ErrClosed
}

// Write loses what is written to a frozen cable.
func (c *cable) Write(p []byte) (int, error) {
	if c.isFrozen() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// Close closes this end. The other end of a frozen cable does not notice: see bury.
func (c *cable) Close() error {
	c.once.Do(func() { close(c.ended) })
	if c.isFrozen() {
		return nil
	}
	return c.Conn.Close()
}

// freeze lets nothing pass any more. It is called once.
func (c *cable) freeze() { close(c.frozen) }

// bury closes what is left of a frozen cable.
func (c *cable) bury() { c.Conn.Close() }

// dialFrom returns a function that connects from an address of this machine.
func dialFrom(source net.IP, note func(*cable)) func(context.Context, string) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: source}, KeepAlive: -time.Second}
	return func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return nil, err
		}
		c := newCable(conn)
		note(c)
		return c, nil
	}
}
