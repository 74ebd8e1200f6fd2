package rawconn

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/net/nettest"
)

// pair returns the two ends of a connection over loopback, both raw.
func pair(t testing.TB) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialled, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := Listener{l}.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialled.Close(); accepted.Close() })
	return New(dialled), accepted
}

// It does what every connection does: reads and writes at once, deadlines that are past or come,
// closing meanwhile.
func TestConn(t *testing.T) {
	nettest.TestConn(t, func() (a, b net.Conn, stop func(), err error) {
		a, b = pair(t)
		return a, b, func() { a.Close(); b.Close() }, nil
	})
}

// More than the kernels hold arrives whole, in order.
func TestMoreThanFits(t *testing.T) {
	a, b := pair(t)
	sent := make([]byte, 16<<20)
	for i := range sent {
		sent[i] = byte(i / 251)
	}
	failed := make(chan error, 1)
	go func() {
		n, err := a.Write(sent)
		if err == nil && n != len(sent) {
			err = io.ErrShortWrite
		}
		a.Close()
		failed <- err
	}()
	got, err := io.ReadAll(b)
	if err := errors.Join(err, <-failed); err != nil {
		t.Fatal(err)
	}
	if string(got) != string(sent) {
		t.Errorf("%d bytes arrived, of %d, and they differ", len(got), len(sent))
	}
}

// Two that write more than fits at the same time write one after the other.
func TestTwoWriters(t *testing.T) {
	a, b := pair(t)
	const each = 8 << 20
	var writers sync.WaitGroup
	for _, mark := range []byte("xy") {
		writers.Go(func() {
			if _, err := a.Write(bytes.Repeat([]byte{mark}, each)); err != nil {
				t.Error(err)
			}
		})
	}
	go func() { writers.Wait(); a.Close() }()
	got, err := io.ReadAll(b)
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.Repeat(got[:1], each)
	if len(got) != 2*each || !bytes.HasPrefix(got, first) || bytes.Contains(got[each:], got[:1]) {
		t.Errorf("%d bytes arrived, and not first those of one and then those of the other", len(got))
	}
}

// The kernel's errors are those of package net.
func TestErrors(t *testing.T) {
	a, b := pair(t)
	b.(interface{ SetLinger(sec int) error }).SetLinger(0)
	b.Close() // resets
	_, err := a.Read(make([]byte, 1))
	var op *net.OpError
	if !errors.Is(err, syscall.ECONNRESET) || !errors.As(err, &op) || op.Addr == nil {
		t.Errorf("after a reset a read returns %v", err)
	}
	if _, err = a.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("after a reset a write returns %v", err)
	}
	a.Close()
	_, err = a.Read(make([]byte, 1))
	if !errors.Is(err, net.ErrClosed) || !errors.As(err, &op) || op.Op != "read" {
		t.Errorf("after Close a read returns %v", err)
	}
}

// A message costs no allocation.
func TestAllocations(t *testing.T) {
	a, b := pair(t)
	message := make([]byte, 100)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := a.Write(message); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(b, message); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
