package proxy

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"time"
)

func listen(t *testing.T, target string) *Proxy {
	t.Helper()
	p, err := Listen(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func dial(t *testing.T, p *Proxy) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*net.TCPConn)
}

// All data arrives, in order, and then its end.
func TestCarriesAllInOrder(t *testing.T) {
	p := listen(t, echo(t))
	c := dial(t, p)
	sent := make([]byte, 1<<20)
	for i := range sent {
		sent[i] = byte(rand.N(256))
	}
	go func() {
		for rest := sent; len(rest) > 0; {
			n := min(1+rand.N(32<<10), len(rest))
			if _, err := c.Write(rest[:n]); err != nil {
				t.Error(err)
			}
			rest = rest[n:]
		}
		_ = c.CloseWrite()
	}()
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes of %d came back, the same: %v; %v", len(got), len(sent), bytes.Equal(got, sent), err)
	}
}

// Over a cut nothing passes; what was held back arrives when it is mended.
func TestCut(t *testing.T) {
	p := listen(t, echo(t))
	c := dial(t, p)
	ask := func(text string) error {
		if _, err := c.Write([]byte(text)); err != nil {
			return err
		}
		got := make([]byte, len(text))
		_, err := io.ReadFull(c, got)
		if err == nil && string(got) != text {
			t.Errorf("%q came back, want %q", got, text)
		}
		return err
	}
	if err := ask("before"); err != nil {
		t.Fatal(err)
	}
	p.Cut()
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if err := ask("held"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("over a cut: %v, want no answer", err)
	}
	late := dial(t, p)
	_ = late.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := late.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a new connection over a cut: %v, want no answer", err)
	}
	p.Mend()
	_ = c.SetReadDeadline(time.Time{})
	held := make([]byte, len("held"))
	if _, err := io.ReadFull(c, held); err != nil || string(held) != "held" {
		t.Errorf("%q, %v: want what was held back", held, err)
	}
	if err := ask("after"); err != nil {
		t.Error(err)
	}
}

// A target that is not there is a connection that breaks at once, and so is one that dies.
func TestDeadTarget(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := listen(t, gone.Addr().String())
	c := dial(t, p)
	other, err := gone.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	_ = other.Close()
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the target has died, and the connection lives")
	}
	again, err := net.Dial("tcp", p.Address())
	if err == nil { // else it broke before the dial returned
		defer again.Close()
		_, err = again.Read(make([]byte, 1))
	}
	if err == nil {
		t.Error("there is no target, and the connection lives")
	}
}

// echo is a server that sends back what it gets, until the test ends; it returns its address.
func echo(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}
