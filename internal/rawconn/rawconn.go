// Package rawconn reads and writes TCP connections by system calls that Go's scheduler is not told
// of.
//
// When an idle program makes a system call, Go wakes its monitor (runtime.sysmon), a thread that
// looks every 20 µs whether the call blocks, so that other goroutines can go on meanwhile. For a
// process that wakes up to answer one message, that costs more than the message
// (docs/adr/0014-raw-connections.md). A network connection of Go never blocks in the kernel: where
// there is nothing to read, or no room to write, the kernel says so at once, and the goroutine
// waits for the poller. So these calls give the monitor nothing to do. What else it does waits for
// the next timer.
//
// On other systems than Linux, connections stay what they are.
package rawconn

import "net"

// Listener has the connections that it accepts read and written raw.
type Listener struct{ net.Listener }

// Accept waits for the next connection.
func (l Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return New(c), nil
}
