// Package port keeps a port of the loopback interface for a program that listens there later.
//
// A port that was found free and let go may be gone when the program listens: the kernel gives it
// to any other that asks for one, or that opens a connection, and with two clusters on a machine
// thousands do. A kept port stays bound, by a socket that does not listen. The kernel then gives it
// to nobody, but lets a socket with SO_REUSEADDR listen there by name, as every Go program's has,
// Prometheus' too, and again after it was closed.
package port

import (
	"fmt"
	"net/netip"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Kept is a port that nobody gets by chance.
type Kept struct {
	// Address is 127.0.0.1 and the port.
	Address string

	closes func() error
}

// Keep keeps a port until the caller closes it.
func Keep() (*Kept, error) {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("keeping a port: %w", os.NewSyscallError("socket", err))
	}
	unix.CloseOnExec(socket)
	k := &Kept{closes: sync.OnceValue(func() error { return unix.Close(socket) })}
	if k.Address, err = bind(socket); err != nil {
		_ = k.Close()
		return nil, fmt.Errorf("keeping a port: %w", err)
	}
	return k, nil
}

// Close lets the port go. Who listens there goes on.
func (k *Kept) Close() error { return k.closes() }

// Of returns an address that is kept until the test ends.
func Of(t testing.TB) string {
	t.Helper()
	k, err := Keep()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return k.Address
}

// bind takes a port for a socket, and returns its address.
func bind(socket int) (string, error) {
	if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return "", os.NewSyscallError("setsockopt", err)
	}
	loopback := unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := unix.Bind(socket, &loopback); err != nil {
		return "", os.NewSyscallError("bind", err)
	}
	name, err := unix.Getsockname(socket)
	if err != nil {
		return "", os.NewSyscallError("getsockname", err)
	}
	bound, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return "", fmt.Errorf("the socket is bound to %v", name)
	}
	//nolint:gosec // a port has 16 bits
	return netip.AddrPortFrom(netip.AddrFrom4(bound.Addr), uint16(bound.Port)).String(), nil
}
