package roster

import (
	"net"
	"testing"

	"github.com/podesta-dev/podesta/internal/pathmtu"
	"github.com/podesta-dev/podesta/test/mss"
)

// An agent reaches its manager over a path that drops large packets.
func TestSmallPacketsToTheManager(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := Client{ClientConfig: ClientConfig{Address: l.Addr().String()}}
	conn, err := c.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got := mss.Of(t, conn); got > pathmtu.MSS {
		t.Errorf("it sends up to %d bytes a packet", got)
	}
}
