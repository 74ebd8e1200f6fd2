package transport

import (
	"net"
	"time"
)

// halfOpen returns how long a connection may last without a sign of the peer's kernel, or while the
// peer reads nothing and the kernels hold as much as they may (kernelBuffer). It is not meant to
// find dead processes, which is the failure detector's task. It frees what remains of a peer whose
// kernel could not close its connections.
func halfOpen(patience time.Duration) time.Duration { return 2 * patience }

// keepAlive configures probes of an idle connection. The kernel counts in whole seconds.
func keepAlive(patience time.Duration) net.KeepAliveConfig {
	every := max(halfOpen(patience)/3, time.Second).Round(time.Second)
	return net.KeepAliveConfig{
		Enable:   true,
		Idle:     every,
		Interval: every,
		Count:    3,
	}
}

// kernelBuffer is how much a kernel may hold of what a process that stands still does not read, in
// bytes, of each direction at each end: the default is megabytes. (Linux doubles it.)
const kernelBuffer = 64 << 10

// limitBuffers bounds what is on its way on a connection.
func limitBuffers(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		//nolint:errcheck // otherwise the defaults apply
		tcp.SetReadBuffer(kernelBuffer)
		tcp.SetWriteBuffer(kernelBuffer) //nolint:errcheck // likewise
	}
}
