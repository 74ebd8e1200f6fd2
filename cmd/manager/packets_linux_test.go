package main

import (
	"net"
	"testing"

	"github.com/podesta-dev/podesta/internal/pathmtu"
	"github.com/podesta-dev/podesta/test/mss"
)

// Whoever connects to a manager reaches it over a path that drops large packets.
func TestSmallPacketsFromAManager(t *testing.T) {
	l, err := listen(t.Context(), "metrics", "127.0.0.1:0", true)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := mss.Of(t, c); got > pathmtu.MSS {
		t.Errorf("it takes up to %d bytes a packet", got)
	}
}
