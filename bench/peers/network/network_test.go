package network

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podesta-dev/podesta/bench/peers/lateness"
	"github.com/podesta-dev/podesta/bench/peers/proxy"
	"github.com/podesta-dev/podesta/bench/peers/proxy/echo"
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
	n, target := begin(t), echo.Start(t)
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
}

// A network that stood still tells that messages were late, and only of the span that it is asked
// about.
func TestLateMessagesAreTold(t *testing.T) {
	begun := register.Now()
	n := begin(t)
	if err := n.process.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-time.After(5 * lateness.Least)
	if err := n.process.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		all, err := n.Late(begun, register.Now())
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(all, func(l lateness.Late) bool { return l.Length() >= 3*lateness.Least }) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("told: %v", all)
		}
		<-time.After(time.Millisecond)
	}
	if before, err := n.Late(0, begun); err != nil || len(before) > 0 {
		t.Errorf("told of the time before it began: %v, %v", before, err)
	}
}

// mayGoFirst skips the test where the kernel does not let a thread of this user go first.
func mayGoFirst(t *testing.T) {
	t.Helper()
	tried := make(chan error)
	go func() {
		runtime.LockOSThread() // and ends with this goroutine
		_, err := putFirst(unix.Gettid())
		tried <- err
	}()
	err := <-tried
	if errors.Is(err, unix.EPERM) {
		t.Skip("no thread may:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// All threads go first, those that are made later, too.
func TestGoesFirst(t *testing.T) {
	mayGoFirst(t)
	n := begin(t)
	way, err := n.Way(echo.Start(t), proxy.Weather{})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		c, err := net.Dial("tcp", way.Address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if !comesBack(t, c, "x", 10*time.Second) {
			t.Error("nothing comes back")
		}
	}
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", n.process.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		attr, err := unix.SchedGetAttr(id, 0)
		if err == nil && (attr.Policy != unix.SCHED_FIFO || attr.Priority != priority) { // else it has ended
			t.Errorf("thread %d has %+v", id, attr)
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
