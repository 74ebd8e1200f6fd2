package pathmtu_test

import (
	"net"
	"testing"

	"github.com/podesta-dev/podesta/internal/pathmtu"
	"github.com/podesta-dev/podesta/test/mss"
)

// One end that uses Control is enough for both. Without it loopback takes 64 KiB.
func TestOneEndIsEnough(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		for _, c := range []struct{ dials, listens bool }{{}, {dials: true}, {listens: true}} {
			var dialer net.Dialer
			var config net.ListenConfig
			if c.dials {
				dialer.Control = pathmtu.Control
			}
			if c.listens {
				config.Control = pathmtu.Control
			}
			l, err := config.Listen(t.Context(), "tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			dialled, err := dialer.DialContext(t.Context(), "tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			accepted, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			for _, end := range []net.Conn{dialled, accepted} {
				if got := mss.Of(t, end); (got <= pathmtu.MSS) != (c.dials || c.listens) {
					t.Errorf("%s, %+v: an end sends up to %d bytes a packet", address, c, got)
				}
				end.Close()
			}
			l.Close()
		}
	}
}
