package main

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// What the server sends arrives whole, in order, and not before the delay.
func TestProxyDelays(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	text := strings.Repeat("all of this, ", 100_000)
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		_, _ = io.ReadFull(conn, make([]byte, 1))
		_, _ = io.WriteString(conn, text)
		_ = conn.Close()
	}()
	const delay = 50 * time.Millisecond
	p, err := newProxy(t.Context(), server.Addr().String(), delay)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	conn, err := net.Dial("tcp", p.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	begun := time.Now()
	_, _ = io.WriteString(conn, "?")
	got, err := io.ReadAll(conn)
	if err != nil || string(got) != text {
		t.Errorf("%d bytes arrived of %d: %v", len(got), len(text), err)
	}
	if took := time.Since(begun); took < delay {
		t.Errorf("they took %v, want at least %v", took, delay)
	}
}

// Of a frozen connection the other end hears nothing, not even that it is closed.
func TestAFrozenCable(t *testing.T) {
	ours, theirs := net.Pipe()
	c := newCable(ours)
	c.freeze()
	if n, err := c.Write([]byte("lost")); n != 4 || err != nil {
		t.Errorf("writing to nowhere: %d, %v", n, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	_ = theirs.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, err := theirs.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the other end reads, or hears of the end: %v", err)
	}
	c.bury()
	_ = theirs.SetReadDeadline(time.Time{})
	if _, err := theirs.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("when it is buried: %v, want EOF", err)
	}
}
