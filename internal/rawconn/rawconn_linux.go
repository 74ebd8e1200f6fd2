package rawconn

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// conn is a TCP connection. Deadlines and Close end reads and writes as they do in package net.
type conn struct {
	*net.TCPConn
	reads, writes calls
}

// New returns c with reads and writes that are raw, or c itself if it is no TCP connection.
func New(c net.Conn) net.Conn {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return c
	}
	r := &conn{TCPConn: tcp}
	r.reads = calls{of: tcp, op: "read", number: syscall.SYS_READ, wait: raw.Read}
	r.writes = calls{of: tcp, op: "write", number: syscall.SYS_WRITE, wait: raw.Write, all: true}
	r.reads.try, r.writes.try = r.reads.attempt, r.writes.attempt
	return r
}

// Read reads what there is, and waits until there is something.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.reads.do(b)
	if err == nil && n == 0 && len(b) > 0 {
		err = io.EOF
	}
	return n, err
}

// Write writes all of b.
func (c *conn) Write(b []byte) (int, error) { return c.writes.do(b) }

// calls are the system calls of one kind on a connection, one at a time. What a call needs is kept
// here: a closure of its own would be allocated for each.
type calls struct {
	of     *net.TCPConn
	op     string
	number uintptr
	all    bool                                  // until nothing is left of b
	try    func(fd uintptr) bool                 // attempt
	wait   func(try func(fd uintptr) bool) error // until try is true, with the poller in between

	mu     sync.Mutex // guards the rest
	b      []byte
	n      int
	failed syscall.Errno
}

// do returns how many bytes were read or written. (With none to read or write it does not look at
// the connection.)
func (c *calls) do(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.b, c.n, c.failed = b, 0, 0
	err := c.wait(c.try)
	c.b = nil
	switch {
	case err != nil:
		return c.n, c.named(err)
	case c.failed != 0:
		return c.n, &net.OpError{Op: c.op, Net: "tcp", Source: c.of.LocalAddr(),
			Addr: c.of.RemoteAddr(), Err: os.NewSyscallError(c.op, c.failed)}
	}
	return c.n, nil
}

// named gives an error of package net the name that it has there: here it is raw-read or raw-write.
func (c *calls) named(err error) error {
	if op := (*net.OpError)(nil); errors.As(err, &op) {
		op.Op = c.op
	}
	return err
}

// attempt reports whether the calls are over. If not, the kernel has to be waited for: it had
// nothing to read, or no room to write.
func (c *calls) attempt(fd uintptr) bool {
	for {
		begins(c.all)
		//nolint:gosec // the call ends before the buffer may go
		r, _, failed := syscall.RawSyscall(c.number, fd, uintptr(unsafe.Pointer(&c.b[0])),
			uintptr(len(c.b)))
		switch {
		case failed == syscall.EINTR:
			continue
		case failed == syscall.EAGAIN:
			return false
		case failed != 0:
			c.failed = failed
			return true
		}
		n := int(r)
		ended(c.all, c.b[:n])
		c.b, c.n = c.b[n:], c.n+n
		if !c.all || n == 0 || len(c.b) == 0 {
			return true
		}
	}
}
