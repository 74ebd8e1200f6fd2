package proxy

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/proxy/echo"
)

func listen(t *testing.T, target string, w Weather) *Proxy {
	t.Helper()
	p, err := Listen(t.Context(), "127.0.0.1:0", target, w)
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

// In any weather all data arrives, in order, and then its end.
func TestCarriesAllInOrder(t *testing.T) {
	weather := Weather{Jitter: 2 * time.Millisecond, Stalls: 0.1, Stall: 5 * time.Millisecond}
	p := listen(t, echo.Start(t), weather)
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
	p := listen(t, echo.Start(t), Weather{})
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
	p := listen(t, gone.Addr().String(), Weather{})
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

// A piece is late by what the weather says.
func TestWeather(t *testing.T) {
	const pieces = 10000
	w := Weather{Jitter: 50 * time.Millisecond, Stalls: 0.01, Stall: 200 * time.Millisecond}
	stalled := 0
	for range pieces {
		d := w.delay()
		if d < 0 || d >= 250*time.Millisecond || d >= 50*time.Millisecond && d < 200*time.Millisecond {
			t.Fatalf("late by %v", d)
		}
		if d >= 200*time.Millisecond {
			stalled++
		}
	}
	if stalled < pieces/200 || stalled > pieces/50 {
		t.Errorf("%d of %d stalled, want about one in a hundred", stalled, pieces)
	}
	if d := (Weather{}).delay(); d != 0 {
		t.Errorf("late by %v in no weather", d)
	}
}

// What is late holds up what comes after it, and nothing else.
func TestDeliversWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Proxy{ctx: t.Context(), open: make(chan struct{})}
		close(p.open)
		near, far := net.Pipe()
		defer near.Close()
		defer far.Close()
		begun := time.Now()
		go p.deliver(piece{due: begun.Add(30 * time.Millisecond), data: []byte("x")}, near)
		if _, err := far.Read(make([]byte, 1)); err != nil || time.Since(begun) != 30*time.Millisecond {
			t.Errorf("delivered after %v, %v, want 30ms", time.Since(begun), err)
		}
	})
}
