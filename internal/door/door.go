// Package door bounds how many connections may be open to a server, how long they stay, and how
// much they may send, so that neither a stranger nor, where clients show certificates, a member can
// keep the others out or fill the server's memory.
//
// A stranger is a connection that has shown no certificate that the server takes: it has not got
// that far, or needs none. Where no certificates are shown, all connections are strangers.
//
// What is not promised: places for strangers of an address that others share, such as a node whose
// pods' traffic is masqueraded; or for anybody, when more addresses than there are places have a
// connection each.
package door

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
	// Within is how long it may stay.
	Within time.Duration
}

// Door is the listener of such a server. Connections beyond the bounds are closed at once. When all
// places of strangers are taken, the address that has most of them makes room for one that has
// fewer. Of a pod the oldest connection is closed, because the newest speaks for it. The server's
// credentials, if it has any, are to be wrapped by [Credentials].
type Door struct {
	net.Listener
	limits Limits

	mu        sync.Mutex
	strangers int
	addresses map[string][]*visit // strangers by address, the oldest first
	pods      map[string][]*visit // by UID, the oldest first
}

// New returns a door in front of a listener.
func New(l net.Listener, limits Limits) *Door {
	return &Door{
		Listener:  l,
		limits:    limits,
		addresses: map[string][]*visit{},
		pods:      map[string][]*visit{},
	}
}

// Accept lets the next connection in as a stranger.
func (d *Door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		v, displaced := d.enter(conn)
		if displaced != nil {
			displaced.Close() //nolint:errcheck // nobody is left to tell
		}
		if v != nil {
			return v, nil
		}
		conn.Close()
	}
}

// enter returns nil if there is no place, and the stranger that has to go for it.
func (d *Door) enter(conn net.Conn) (v, displaced *visit) {
	address := AddressOf(conn.RemoteAddr())
	d.mu.Lock()
	defer d.mu.Unlock()
	here := len(d.addresses[address])
	if here >= StrangersOfAddress {
		return nil, nil
	}
	if d.strangers >= Strangers {
		if displaced = d.displaced(here); displaced == nil {
			return nil, nil
		}
		d.end(displaced)
	}
	v = &visit{
		Conn:    conn,
		door:    d,
		address: address,
		left:    d.limits.Bytes,
	}
	v.timer = time.AfterFunc(d.limits.Within, v.expire)
	d.strangers++
	d.addresses[address] = append(d.addresses[address], v)
	return v, displaced
}

// displaced returns the oldest stranger of the address that has most, if it has more than one of
// this many would have with one more; else nil.
func (d *Door) displaced(here int) *visit {
	var most []*visit
	for _, visits := range d.addresses {
		if len(visits) > len(most) {
			most = visits
		}
	}
	if len(most) <= here+1 {
		return nil
	}
	return most[0]
}

func (d *Door) prove(v *visit, uid string) (oldest *visit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if v.over {
		return nil
	}
	d.leaveStrangers(v)
	v.pod = uid
	d.pods[uid] = append(d.pods[uid], v)
	if len(d.pods[uid]) > OfPod {
		return d.pods[uid][0]
	}
	return nil
}

func (d *Door) leave(v *visit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.end(v)
}

func (d *Door) end(v *visit) {
	switch {
	case v.over:
	case v.pod == "":
		d.leaveStrangers(v)
	default:
		remove(d.pods, v.pod, v)
	}
	v.over = true
}

func (d *Door) leaveStrangers(v *visit) {
	v.timer.Stop()
	d.strangers--
	remove(d.addresses, v.address, v)
}

func remove(from map[string][]*visit, key string, v *visit) {
	from[key] = slices.DeleteFunc(from[key], func(other *visit) bool { return other == v })
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
