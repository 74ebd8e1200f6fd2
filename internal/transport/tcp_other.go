//go:build !linux

package transport

import (
	"syscall"
	"time"
)

// control does nothing on systems where the limit cannot be set for a single connection.
func control(time.Duration) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, _ syscall.RawConn) error { return nil }
}
