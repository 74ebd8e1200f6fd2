//go:build !linux

package rawconn

import "net"

// New returns c.
func New(c net.Conn) net.Conn { return c }
