package transport

import (
	"net"
	"time"
)

// halfOpen bounds how long a connection lives on without a sign from the peer's kernel. It is not how a dead process is
// found: the failure detector asks for that. It frees what a peer has left behind whose kernel could not close it.
func halfOpen(patience time.Duration) time.Duration { return 2 * patience }

// keepAlive probes an idle connection. The kernel counts in whole seconds.
func keepAlive(patience time.Duration) net.KeepAliveConfig {
	every := max(halfOpen(patience)/3, time.Second).Round(time.Second)
	return net.KeepAliveConfig{Enable: true, Idle: every, Interval: every, Count: 3}
}
