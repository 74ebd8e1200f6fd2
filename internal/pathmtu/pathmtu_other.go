//go:build !linux

package pathmtu

import "syscall"

// Control does nothing on systems other than Linux.
func Control(_, _ string, _ syscall.RawConn) error { return nil }
