package network

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/bench/peers/proxy"
	"github.com/podesta-dev/podesta/test/register"
)

// The network of the test is this test binary.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "network" {
		if err := Main(context.Background()); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func begin(t *testing.T) *Network {
	t.Helper()
	n, err := Begin([]string{os.Args[0], "network"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.End)
	return n
}

// echo is a server that sends back what it gets; it returns its address.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// comesBack reports whether a text comes back over a way.
func comesBack(t *testing.T, c net.Conn, text string, within time.Duration) bool {
	t.Helper()
	if _, err := c.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return arrives(t, c, text, within)
}

func arrives(t *testing.T, c net.Conn, text string, within time.Duration) bool {
	t.Helper()
	got := make([]byte, len(text))
	_ = c.SetReadDeadline(time.Now().Add(within))
	_, err := io.ReadFull(c, got)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) || err == nil && string(got) != text {
		t.Fatalf("%q, %v, want %q", got, err, text)
	}
	return err == nil
}

// A cut is of the ways that it names, and what it has held back arrives when it is mended.
func TestWays(t *testing.T) {
	n, target := begin(t), echo(t)
	var ways [2]Way
	var ends [2]net.Conn
	for i := range ways {
		var err error
		if ways[i], err = n.Way(target, proxy.Weather{}); err != nil {
			t.Fatal(err)
		}
		if ends[i], err = net.Dial("tcp", ways[i].Address); err != nil {
			t.Fatal(err)
		}
		defer ends[i].Close()
		if !comesBack(t, ends[i], "before", 10*time.Second) {
			t.Errorf("nothing comes back over way %d", i)
		}
	}
	if err := n.Cut(ways[1:]); err != nil {
		t.Fatal(err)
	}
	if !comesBack(t, ends[0], "besides", 10*time.Second) {
		t.Error("nothing comes back over the way that was not cut")
	}
	if comesBack(t, ends[1], "held", 50*time.Millisecond) {
		t.Error("something comes back over a cut")
	}
	if err := n.Mend(ways[1:]); err != nil {
		t.Fatal(err)
	}
	if !arrives(t, ends[1], "held", 10*time.Second) {
		t.Error("what was held back does not arrive")
	}
	if _, err := n.Way("nowhere", proxy.Weather{Jitter: time.Second}); err != nil {
		t.Errorf("a target is dialled when somebody calls: %v", err)
	}
	if _, err := n.Late(0, register.Now()); err != nil {
		t.Error(err)
	}
}

// Threads that are made later go first, too.
func TestGoesFirst(t *testing.T) {
	n := begin(t)
	if first, err := isFirst(n.process.Process.Pid); err != nil || !first {
		t.Skip("it may not:", err)
	}
	way, err := n.Way(echo(t), proxy.Weather{})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		c, err := net.Dial("tcp", way.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		comesBack(t, c, "x", 10*time.Second)
	}
	threads, err := os.ReadDir("/proc/" + strconv.Itoa(n.process.Process.Pid) + "/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		if first, err := isFirst(id); err == nil && !first {
			t.Errorf("thread %s does not go first", thread.Name())
		}
	}
}

// A network that has died says so.
func TestDeadNetwork(t *testing.T) {
	n := begin(t)
	if err := n.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Way("127.0.0.1:1", proxy.Weather{}); err == nil {
		t.Error("it has died, and makes a way")
	}
}
