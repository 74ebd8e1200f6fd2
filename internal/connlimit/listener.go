// Package connlimit bounds how many connections may be open to a server, how long they stay, how
// much they may send, and how many handshakes are computed at once, so that neither a stranger nor,
// where clients show certificates, a member can keep the others out or fill the server's memory.
//
// A stranger is a connection that has shown no certificate that the server takes: it has not got
// that far, or needs none. Where no certificates are shown, all connections are strangers.
//
// What is not promised: places for strangers of an address that others share, such as a node whose
// pods' traffic is masqueraded; or for anybody, when more addresses than there are places have a
// connection each.
package connlimit

import (
	"net"
	"slices"
	"sync"
	"time"
)

// How many connections may be open at once. A pod keeps one, and two while it renews or comes back.
const (
	Strangers          = 1024
	StrangersOfAddress = 256
	OfPod              = 4
)

// Limits bound a single stranger, from when it is accepted. Nothing of them applies to a connection
// that has shown a certificate.
type Limits struct {
	// Bytes is how much it may send. What a server keeps for a stranger is a multiple of it.
	Bytes int
	// Unanswered is how much of that it may send before the server answers; 0: all. That a server of
	// TLS asks for another hello is no answer.
	Unanswered int
	// Within is how long it may stay.
	Within time.Duration
}

// Listener is a server's, with these bounds. Connections beyond the bounds are closed at once. When
// all places of strangers are taken, the address that has most of them makes room for one that has
// fewer. Of a pod the oldest connection is closed, because the newest speaks for it. A server that
// is shown certificates says so by [Authenticate].
type Listener struct {
	net.Listener
	limits Limits

	mu        sync.Mutex
	strangers int
	addresses map[string][]*connection // strangers by address, the oldest first
	pods      map[string][]*connection // by UID, the oldest first
}

// New limits the connections of a listener.
func New(l net.Listener, limits Limits) *Listener {
	return &Listener{
		Listener:  l,
		limits:    limits,
		addresses: map[string][]*connection{},
		pods:      map[string][]*connection{},
	}
}

// Accept lets the next connection in as a stranger.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c, displaced := l.enter(conn)
		if displaced != nil {
			displaced.Close() //nolint:errcheck // nobody is left to tell
		}
		if c != nil {
			return c, nil
		}
		conn.Close()
	}
}

// enter returns nil if there is no place, and the stranger that has to go for it.
func (l *Listener) enter(conn net.Conn) (c, displaced *connection) {
	address := AddressOf(conn.RemoteAddr())
	l.mu.Lock()
	defer l.mu.Unlock()
	here := len(l.addresses[address])
	if here >= StrangersOfAddress {
		return nil, nil
	}
	if l.strangers >= Strangers {
		if displaced = l.displaced(here); displaced == nil {
			return nil, nil
		}
		l.end(displaced)
	}
	c = &connection{
		Conn:     conn,
		listener: l,
		address:  address,
		left:     l.limits.Bytes,
	}
	c.timer = time.AfterFunc(l.limits.Within, c.expire)
	l.strangers++
	l.addresses[address] = append(l.addresses[address], c)
	return c, displaced
}

// displaced returns the oldest stranger of the address that has most, if it has more than one of
// this many would have with one more; else nil.
func (l *Listener) displaced(here int) *connection {
	var most []*connection
	for _, connections := range l.addresses {
		if len(connections) > len(most) {
			most = connections
		}
	}
	if len(most) <= here+1 {
		return nil
	}
	return most[0]
}

func (l *Listener) authenticate(c *connection, uid string) (oldest *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.over {
		return nil
	}
	l.leaveStrangers(c)
	c.pod = uid
	l.pods[uid] = append(l.pods[uid], c)
	if len(l.pods[uid]) > OfPod {
		return l.pods[uid][0]
	}
	return nil
}

func (l *Listener) leave(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end(c)
}

func (l *Listener) end(c *connection) {
	switch {
	case c.over:
	case c.pod == "":
		l.leaveStrangers(c)
	default:
		remove(l.pods, c.pod, c)
	}
	c.over = true
}

func (l *Listener) leaveStrangers(c *connection) {
	c.timer.Stop()
	c.timer = nil
	l.strangers--
	remove(l.addresses, c.address, c)
}

func remove(from map[string][]*connection, key string, c *connection) {
	from[key] = slices.DeleteFunc(from[key], func(other *connection) bool { return other == c })
	if len(from[key]) == 0 {
		delete(from, key)
	}
}

// AddressOf returns an address without its port.
func AddressOf(a net.Addr) string {
	if host, _, err := net.SplitHostPort(a.String()); err == nil {
		return host
	}
	return a.String()
}
