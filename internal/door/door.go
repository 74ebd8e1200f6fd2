// Package door bounds how many connections may be open to a server, so that neither a stranger nor, where clients show certificates, a
// member can keep the others out.
package door

import (
	"net"
	"slices"
	"sync"

	"google.golang.org/grpc/credentials"

	"github.com/podesta-dev/podesta/internal/identity"
)

// How many connections may be open at once. A stranger is who has shown no certificate that the server takes: it has not got that far, or
// needs none yet. A pod keeps one, and two while it renews or comes back.
const (
	Strangers          = 1024
	StrangersOfAddress = 256
	OfPod              = 4
)

// Door is the listener of such a server. Connections beyond the bounds are closed at once; of a pod the oldest, because the newest
// speaks for it. The server's credentials, if it has any, are to be wrapped by [Credentials].
type Door struct {
	net.Listener

	mu        sync.Mutex
	strangers int
	addresses map[string]int      // strangers by address
	pods      map[string][]*visit // by UID, the oldest first
}

// New is a door in front of a listener.
func New(l net.Listener) *Door {
	return &Door{Listener: l, addresses: map[string]int{}, pods: map[string][]*visit{}}
}

// Accept lets the next connection in as a stranger.
func (d *Door) Accept() (net.Conn, error) {
	for {
		conn, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if v := d.enter(conn); v != nil {
			return v, nil
		}
		conn.Close()
	}
}

func (d *Door) enter(conn net.Conn) *visit {
	address := AddressOf(conn.RemoteAddr())
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.strangers >= Strangers || d.addresses[address] >= StrangersOfAddress {
		return nil
	}
	d.strangers++
	d.addresses[address]++
	return &visit{Conn: conn, door: d, address: address}
}

// visit is a connection.
type visit struct {
	net.Conn
	door    *Door
	address string
	pod     string // UID, when it has shown a certificate
	over    bool
}

// prove makes a stranger a pod.
func (v *visit) prove(uid string) {
	if oldest := v.door.prove(v, uid); oldest != nil {
		oldest.Close() //nolint:errcheck // it was open, and is to be so no more
	}
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

// Close closes the connection and makes room. It may be called more than once.
func (v *visit) Close() error {
	v.door.leave(v)
	return v.Conn.Close()
}

func (d *Door) leave(v *visit) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case v.over:
	case v.pod == "":
		d.leaveStrangers(v)
	default:
		d.pods[v.pod] = slices.DeleteFunc(d.pods[v.pod], func(other *visit) bool { return other == v })
		if len(d.pods[v.pod]) == 0 {
			delete(d.pods, v.pod)
		}
	}
	v.over = true
}

func (d *Door) leaveStrangers(v *visit) {
	d.strangers--
	if d.addresses[v.address]--; d.addresses[v.address] == 0 {
		delete(d.addresses, v.address)
	}
}

// AddressOf is an address without its port.
func AddressOf(a net.Addr) string {
	if host, _, err := net.SplitHostPort(a.String()); err == nil {
		return host
	}
	return a.String()
}

// Credentials are a server's credentials that tell its door who has come, when the handshake has accepted them.
func Credentials(c credentials.TransportCredentials) credentials.TransportCredentials {
	return proving{c}
}

type proving struct {
	credentials.TransportCredentials
}

// ServerHandshake is TLS's, and says at the door what it has found.
func (p proving) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := p.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return nil, nil, err
	}
	if v, ok := raw.(*visit); ok {
		if name, proved := nameOf(info); proved {
			v.prove(name.UID)
		}
	}
	return conn, info, nil
}

// Clone is a copy.
func (p proving) Clone() credentials.TransportCredentials {
	return proving{p.TransportCredentials.Clone()}
}

// nameOf is whom the certificate of a connection names, if one was shown. The handshake has verified it.
func nameOf(info credentials.AuthInfo) (identity.Name, bool) {
	shown, ok := info.(credentials.TLSInfo)
	if !ok || len(shown.State.PeerCertificates) == 0 {
		return identity.Name{}, false
	}
	name, err := identity.NameOf(shown.State.PeerCertificates[0])
	return name, err == nil
}
