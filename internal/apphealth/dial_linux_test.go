package apphealth_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// An app that accepts nothing any more is not healthy, and nobody goes on dialing it after the probe.
func TestADialEndsWithTheProbe(t *testing.T) {
	for _, scheme := range []string{"http", "tcp", "grpc"} {
		t.Run(scheme, func(t *testing.T) {
			port := wedged(t)
			before := dialing(t, port)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			err := parse(t, fmt.Sprintf("%s://127.0.0.1:%d", scheme, port))(ctx)
			if late, ok := errors.AsType[net.Error](err); !ok || !late.Timeout() {
				t.Fatalf("it was not awaited for the probe's time: %v", err)
			}
			if n := dialing(t, port); n > before {
				t.Fatalf("%d are still being dialed, of %d before", n, before)
			}
		})
	}
}

// wedged returns a port at which the kernel answers no connection any more, because nobody accepts
// those that are there.
func wedged(t *testing.T) (port int) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(
		syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0),
	); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port = at.(*syscall.SockaddrInet4).Port
	for range 10 {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), 200*time.Millisecond)
		if err != nil {
			return port
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	t.Fatal("it accepts and accepts")
	return 0
}

// dialing returns how many sockets of this machine wait for an answer of a port (proc_pid_net(5)).
func dialing(t *testing.T, port int) (n int) {
	t.Helper()
	table, err := os.ReadFile("/proc/self/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) > 3 && strings.HasSuffix(f[2], fmt.Sprintf(":%04X", port)) && f[3] == "02" { // TCP_SYN_SENT
			n++
		}
	}
	return n
}
