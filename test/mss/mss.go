// Package mss reads how large the segments of a TCP connection may be.
package mss

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// Of returns the most bytes that this end of a connection sends in one packet.
func Of(t *testing.T, c net.Conn) (most int) {
	t.Helper()
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		t.Fatalf("%T is no TCP connection", c)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		most, failed = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG)
	})
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	return most
}
