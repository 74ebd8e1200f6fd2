package port

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A program listens on a kept port, is restarted, and listens there again.
func TestAKeptPortIsForWhoNamesIt(t *testing.T) {
	kept := Of(t)
	for range 3 {
		program, err := listen(t.Context(), kept, nil)
		must(t, err)
		connection, err := new(net.Dialer).DialContext(t.Context(), "tcp", kept)
		must(t, err)
		closed(t, connection)
		closed(t, program)
	}
}

// The kernel is asked for any port and may choose only the kept one: it gives it neither to who
// listens nor to who connects. Once it is let go, it gives it to both.
func TestAKeptPortIsGivenToNobody(t *testing.T) {
	kept, err := Keep()
	must(t, err)
	only := onlyPort(netip.MustParseAddrPort(kept.Address).Port())
	server, err := listen(t.Context(), "127.0.0.1:0", nil)
	must(t, err)
	defer closed(t, server)
	dialer := net.Dialer{Control: only}

	if l, err := listen(t.Context(), "127.0.0.1:0", only); err == nil {
		t.Errorf("who listens was given %s", l.Addr())
	} else if errors.Is(err, unix.ENOPROTOOPT) {
		t.Skip("this kernel (before Linux 6.3) cannot be told which port to choose")
	} else if !errors.Is(err, unix.EADDRINUSE) {
		t.Error(err)
	}
	if c, err := dialer.DialContext(t.Context(), "tcp", server.Addr().String()); err == nil {
		t.Errorf("who connects was given %s", c.LocalAddr())
	} else if !errors.Is(err, unix.EADDRNOTAVAIL) {
		t.Error(err)
	}

	closed(t, kept)
	l, err := listen(t.Context(), "127.0.0.1:0", only)
	must(t, err)
	closed(t, l)
	c, err := dialer.DialContext(t.Context(), "tcp", server.Addr().String())
	must(t, err)
	closed(t, c)
}

type control = func(network, address string, socket syscall.RawConn) error

// onlyPort has the kernel choose from one port.
func onlyPort(port uint16) control {
	return func(_, _ string, socket syscall.RawConn) (err error) {
		outer := socket.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_LOCAL_PORT_RANGE,
				int(port)<<16|int(port))
		})
		return errors.Join(outer, err)
	}
}

func listen(ctx context.Context, address string, how control) (net.Listener, error) {
	config := net.ListenConfig{Control: how}
	return config.Listen(ctx, "tcp", address)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func closed(t *testing.T, c io.Closer) {
	t.Helper()
	must(t, c.Close())
}
