//go:build !linux

package transport

import (
	"syscall"
	"time"
)

// control has nothing to do where the kernel's own bound cannot be changed for one connection.
func control(time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, _ syscall.RawConn) error { return nil }
}
