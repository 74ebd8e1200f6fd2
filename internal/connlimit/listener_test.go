package connlimit

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podesta-dev/podesta/test/bubble"
)

var some = Limits{Bytes: 10, Within: time.Minute}

// from is a connection from an address.
type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr { return name(f.address) }
func (f from) Close() error         { return nil }

type name string

func (name) Network() string  { return "test" }
func (n name) String() string { return string(n) }

// enter wants a place, at once.
func enter(t *testing.T, d *Listener, address string) *connection {
	t.Helper()
	c, _ := d.enter(from{address: address})
	if c == nil {
		t.Fatalf("%s gets no place", address)
	}
	return c
}

func TestTheListenerCountsRight(t *testing.T) {
	d := New(nil, some)
	var connections []*connection
	for range 3 {
		connections = append(connections, enter(t, d, "here"))
	}
	Authenticate(connections[0], "a")
	Authenticate(connections[1], "a")
	if d.strangers != 1 || len(d.pods["a"]) != 2 || len(d.addresses["here"]) != 1 {
		t.Fatalf("%d strangers (%v), pods %v", d.strangers, d.addresses, d.pods)
	}
	for range 2 { // a second time changes nothing
		for _, c := range connections {
			c.Close()
		}
	}
	Authenticate(connections[0], "a") // it was closed in the handshake
	if d.strangers != 0 || len(d.pods) != 0 || len(d.addresses) != 0 {
		t.Errorf("when all have gone: %d strangers (%v), pods %v", d.strangers, d.addresses, d.pods)
	}
}

// Addresses that take all places make room for one that has fewer than they; with as many as they
// have, none does.
func TestAddressesThatHaveMostMakeRoom(t *testing.T) {
	d := New(nil, some)
	var first *connection
	for i := range Strangers / StrangersOfAddress {
		for range StrangersOfAddress {
			c := enter(t, d, fmt.Sprint("flood ", i))
			if first == nil {
				first = c
			}
		}
	}
	if _, displaced := d.enter(from{address: "honest"}); displaced == nil ||
		displaced.address == "honest" || !displaced.over {
		t.Fatalf("%v made room", displaced)
	}
	if d.strangers != Strangers {
		t.Errorf("%d strangers, want %d", d.strangers, Strangers)
	}
	for i := range Strangers / StrangersOfAddress {
		for range StrangersOfAddress {
			d.enter(from{address: fmt.Sprint("flood ", i)})
		}
	}
	if len(d.addresses["honest"]) != 1 {
		t.Error("those that have most displaced one that has less")
	}
	crowd := New(nil, some)
	for i := range Strangers {
		enter(t, crowd, fmt.Sprint(i))
	}
	if c, displaced := crowd.enter(from{address: "one more"}); c != nil || displaced != nil {
		t.Errorf("%v displaced %v, which had no more", c, displaced)
	}
}

// A stranger sends no more than it may. A pod is not limited.
func TestAStrangerSendsNoMoreThanItMay(t *testing.T) {
	d := New(nil, some)
	for _, pod := range []bool{false, true} {
		ours, theirs := net.Pipe()
		c, _ := d.enter(ours)
		if pod {
			Authenticate(c, "uid")
		}
		go func() {
			_, _ = theirs.Write(make([]byte, 2*some.Bytes))
			_ = theirs.Close()
		}()
		content, err := io.ReadAll(c)
		switch {
		case pod && (err != nil || len(content) != 2*some.Bytes):
			t.Errorf("of a pod %d bytes were read (%v)", len(content), err)
		case !pod && (!errors.Is(err, errTooMuch) || len(content) != some.Bytes):
			t.Errorf("of a stranger %d bytes were read (%v), want %d", len(content), err, some.Bytes)
		}
		c.Close()
		_ = theirs.Close()
	}
}

// Until the server answers, a stranger sends less. Then it sends the rest. Another hello that the
// server asks for is of what it may send before.
func TestAStrangerIsToBeAnswered(t *testing.T) {
	d := New(nil, Limits{Bytes: 10, Unanswered: 4, Within: time.Minute})
	ours, theirs := net.Pipe()
	c, _ := d.enter(ours)
	defer c.Close()
	defer theirs.Close()
	go func() { _, _ = theirs.Write(make([]byte, 20)) }()
	go func() { _, _ = io.Copy(io.Discard, theirs) }()
	for _, step := range []struct {
		says  int // what the server writes before
		reads int
	}{{0, 4}, {200, 0}, {400, 6}} { // as much as a server of TLS writes that asks again, or answers
		if _, err := c.Write(make([]byte, step.says)); err != nil {
			t.Fatal(err)
		}
		if n, err := io.ReadFull(c, make([]byte, 20)); !errors.Is(err, errTooMuch) || n != step.reads {
			t.Errorf("when the server has written %d more: %d bytes (%v), want %d", step.says, n, err,
				step.reads)
		}
	}
}

// accepting is a listener with one connection.
type accepting struct {
	net.Listener
	conn net.Conn
}

func (a accepting) Accept() (net.Conn, error) { return a.conn, nil }

// A request has as many lines as it may, and no more, however it comes. Lines that come with one too
// many are not looked at.
func TestARequestHasSoManyLines(t *testing.T) {
	for _, c := range []struct {
		pieces []string
		want   string
		ends   bool
	}{
		{[]string{"a\n", "b\n", "c\n"}, "a\nb\nc\n", false},
		{[]string{"a\nb\n", "c"}, "a\nb\nc", false},
		{[]string{"a\n", "b\n", "c\n", "d\n"}, "a\nb\nc\n", true},
		{[]string{"a\nb\nc\nd\n"}, "", true},
	} {
		ours, theirs := net.Pipe()
		conn, err := Lines(accepting{conn: ours}, 3).Accept()
		must(t, err)
		go func() {
			for _, piece := range c.pieces {
				_, _ = theirs.Write([]byte(piece))
			}
			_ = theirs.Close()
		}()
		content, err := io.ReadAll(conn)
		if string(content) != c.want || errors.Is(err, errTooManyLines) != c.ends {
			t.Errorf("of %q was read %q (%v), want %q", c.pieces, content, err, c.want)
		}
		conn.Close()
	}
}

// count is how many strangers there are, and how many connections of a pod.
func (l *Listener) count(uid string) (strangers, pods int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.strangers, len(l.pods[uid])
}

// A stranger is closed after its time. A pod stays.
func TestAStrangerHasItsTime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := New(nil, some)
		enter(t, d, "stranger")
		Authenticate(enter(t, d, "pod"), "uid")
		<-time.After(some.Within - 1)
		synctest.Wait()
		if n, _ := d.count("uid"); n != 1 {
			t.Error("the stranger was closed too early")
		}
		<-time.After(1)
		synctest.Wait()
		if strangers, pods := d.count("uid"); strangers != 0 || pods != 1 {
			t.Errorf("%d strangers and %d connections of the pod are left", strangers, pods)
		}
	})
}
