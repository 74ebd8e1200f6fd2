package transport

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/podesta-dev/podesta/internal/pathmtu"
	"github.com/podesta-dev/podesta/test/mss"
)

// A link passes a path that drops large packets, whatever its listener does.
func TestLinksSendSmallPackets(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := newLoopback(t)
	defer f.end()
	plain := f.listen("127.0.0.1:0")
	defer plain.Close()
	a := f.join("a", 1)
	a.Admit([]Member{{Name: "b", UID: "uid-b", Address: plain.Addr().String()}})
	a.Link([]string{"b"})
	accepted, err := plain.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if got := mss.Of(t, accepted); got > pathmtu.MSS {
		t.Errorf("a link sends up to %d bytes a packet", got)
	}
}
