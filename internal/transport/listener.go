package transport

import (
	"net"
	"time"
)

// listener bounds what the kernel holds of the connections that it accepts, and ends half-open
// ones. The connlimit.Listener in front limits their number.
type listener struct {
	net.Listener
	patience func() time.Duration
}

func (l listener) Accept() (net.Conn, error) {
	raw, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	limitBuffers(raw)
	if tcp, ok := raw.(*net.TCPConn); ok {
		//nolint:errcheck // otherwise the defaults apply, which are slower
		tcp.SetKeepAliveConfig(keepAlive(l.patience()))
		if sys, err := tcp.SyscallConn(); err == nil {
			control(l.patience())("", "", sys) //nolint:errcheck // likewise
		}
	}
	return raw, nil
}
