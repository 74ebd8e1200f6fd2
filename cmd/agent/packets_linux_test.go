package main

import (
	"net"
	"testing"

	"github.com/podesta-dev/podesta/internal/pathmtu"
	"github.com/podesta-dev/podesta/test/mss"
)

// Whoever connects to an agent reaches it over a path that drops large packets: other agents,
// probes and scrapers.
func TestSmallPacketsFromAnAgent(t *testing.T) {
	const port = "127.0.0.1:0"
	listeners, err := openListeners(t.Context(),
		options{listen: port, statusAddress: port, appAddress: port})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range listeners {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if got := mss.Of(t, c); got > pathmtu.MSS {
			t.Errorf("%s takes up to %d bytes a packet", l.Addr(), got)
		}
		c.Close()
		l.Close()
	}
}
