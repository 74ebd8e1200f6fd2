package rawconn

import (
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
	r.reads.prepare(tcp, "read", syscall.SYS_READ, raw.Read)
	r.writes.prepare(tcp, "write", syscall.SYS_WRITE, raw.Write)
	return r
}

// Read reads what there is, and waits until there is something.
func (c *conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, err := c.reads.do(b)
	if err == nil && n == 0 {
		err = io.EOF
	}
	return n, err
}

// Write writes all of b.
func (c *conn) Write(b []byte) (written int, err error) {
	for written < len(b) && err == nil {
		var n int
		n, err = c.writes.do(b[written:])
		written += n
	}
	return written, err
}

// calls are the system calls of one kind on a connection, one at a time. What a call needs is kept
// here: a closure of its own would be allocated for each.
type calls struct {
	of     *net.TCPConn
	op     string
	number uintptr
	wait   func(func(fd uintptr) bool) error // calls that, as often as needed, until it is true
	try    func(fd uintptr) bool             // attempt

	mu     sync.Mutex // guards the rest
	b      []byte
	n      int
	failed syscall.Errno
}

func (c *calls) prepare(of *net.TCPConn, op string, number uintptr,
	wait func(func(fd uintptr) bool) error) {
	c.of, c.op, c.number, c.wait, c.try = of, op, number, wait, c.attempt
}

func (c *calls) do(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.b = b
	err := c.wait(c.try)
	c.b = nil
	switch {
	case err != nil:
		return 0, err
	case c.failed != 0:
		return 0, &net.OpError{Op: c.op, Net: "tcp", Source: c.of.LocalAddr(),
			Addr: c.of.RemoteAddr(), Err: os.NewSyscallError(c.op, c.failed)}
	}
	return c.n, nil
}

// attempt reports whether the call is over. Else the kernel would have had it wait.
func (c *calls) attempt(fd uintptr) bool {
	for {
		//nolint:gosec // the call ends before the buffer may go
		n, _, failed := syscall.RawSyscall(c.number, fd, uintptr(unsafe.Pointer(&c.b[0])),
			uintptr(len(c.b)))
		if failed == syscall.EINTR {
			continue
		}
		c.n, c.failed = int(n), failed
		return failed != syscall.EAGAIN
	}
}
