package door

import (
	"context"
	"errors"
	"net"
	"time"
)

// visit is a connection.
type visit struct {
	net.Conn
	door    *Door
	address string
	timer   *time.Timer // ends a stranger's stay
	// the call of a stranger; nil: it has made none. The connection's reader alone uses it (Single)
	call context.Context //nolint:containedctx // whether it has ended is all that is asked

	// guarded by the door
	pod  string // UID, when it has shown a certificate
	over bool
	left int // how much it may send while it is a stranger, in bytes
}

var errTooMuch = errors.New("the connection has sent more than it may without a certificate")

// Read reads no more of a stranger than it may send. There is one reader at a time, as TLS and HTTP
// have it.
func (v *visit) Read(p []byte) (int, error) {
	stranger, left := v.allowance()
	if !stranger {
		return v.Conn.Read(p)
	}
	if left == 0 {
		return 0, errTooMuch
	}
	n, err := v.Conn.Read(p[:min(len(p), left)])
	v.door.mu.Lock()
	defer v.door.mu.Unlock()
	v.left -= n
	return n, err
}

func (v *visit) allowance() (stranger bool, left int) {
	v.door.mu.Lock()
	defer v.door.mu.Unlock()
	return v.pod == "", v.left
}

// prove makes a stranger a pod.
func (v *visit) prove(uid string) {
	if oldest := v.door.prove(v, uid); oldest != nil {
		oldest.Close() //nolint:errcheck // it was open, and is to be so no more
	}
}

// expire closes the connection of a stranger that has stayed too long.
func (v *visit) expire() {
	if stranger, _ := v.allowance(); stranger {
		v.Close() //nolint:errcheck // it was open, and is to be so no more
	}
}

// Close closes the connection and makes room. It may be called more than once.
func (v *visit) Close() error {
	v.door.leave(v)
	return v.Conn.Close()
}
