package transport

import (
	"net"
	"time"
)

// halfOpen returns how long a connection may last without a sign of the peer's kernel. It is not
// meant to find dead processes, which is the failure detector's task. It frees what remains of a
// peer whose kernel could not close its connections.
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
