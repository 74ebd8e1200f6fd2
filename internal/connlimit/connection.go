package connlimit

import (
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// connection is one that a Listener has accepted.
type connection struct {
	net.Conn
	listener *Listener
	address  string
	timer    *time.Timer  // ends a stranger's stay
	written  atomic.Int64 // by the server, until that is an answer

	// guarded by the listener
	pod  string // UID, when it has shown a certificate
	over bool
	left int // how much it may send while it is a stranger, in bytes
}

var errTooMuch = errors.New("the connection has sent more than it may without a certificate")

// Read reads no more of a stranger than it may send. There is one reader at a time, as TLS and HTTP
// have it.
func (c *connection) Read(p []byte) (int, error) {
	stranger, left := c.allowance()
	if !stranger {
		return c.Conn.Read(p)
	}
	if left == 0 {
		return 0, errTooMuch
	}
	n, err := c.Conn.Read(p[:min(len(p), left)])
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.left -= n
	return n, err
}

func (c *connection) allowance() (stranger bool, left int) {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	left = c.left
	if l := c.listener.limits; l.Unanswered > 0 && c.written.Load() < leastAnswer {
		left -= l.Bytes - l.Unanswered
	}
	return c.pod == "", left
}

// leastAnswer is how much a server writes at least that answers, in bytes. With less, one of TLS
// asks for another hello, in some hundred bytes; its answer has a certificate.
const leastAnswer = 512

func (c *connection) Write(p []byte) (int, error) {
	if c.written.Load() < leastAnswer {
		c.written.Add(int64(len(p)))
	}
	return c.Conn.Write(p)
}

// Authenticate tells the Listener that accepted a connection whose it is: the pod with this UID has
// shown a certificate on it, and the handshake has accepted that.
func Authenticate(conn net.Conn, uid string) {
	c, ok := conn.(*connection)
	if !ok {
		return
	}
	if oldest := c.listener.authenticate(c, uid); oldest != nil {
		oldest.Close() //nolint:errcheck // nobody is left to tell
	}
}

// expire closes the connection of a stranger that has stayed too long.
func (c *connection) expire() {
	if stranger, _ := c.allowance(); stranger {
		c.Close() //nolint:errcheck // nobody is left to tell
	}
}

// Close closes the connection and makes room. It may be called more than once.
func (c *connection) Close() error {
	c.listener.leave(c)
	return c.Conn.Close()
}
