package transport

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// control limits how long the kernel waits for the peer's kernel to acknowledge what was sent
// (TCP_USER_TIMEOUT). The default is a quarter of an hour.
func control(patience time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT,
				int(halfOpen(patience).Milliseconds()))
		})
		if err != nil {
			return err
		}
		return failed
	}
}
