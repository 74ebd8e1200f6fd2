package door

import (
	"net"
	"testing"
)

func TestTheDoorCountsRight(t *testing.T) {
	d := New(nil)
	ours, theirs := net.Pipe()
	defer theirs.Close()
	var visits []*visit
	for range 3 {
		visits = append(visits, d.enter(ours))
	}
	visits[0].prove("a")
	visits[1].prove("a")
	if d.strangers != 1 || len(d.pods["a"]) != 2 || d.addresses["pipe"] != 1 {
		t.Fatalf("%d strangers (%v), pods %v", d.strangers, d.addresses, d.pods)
	}
	for range 2 { // a second time changes nothing
		for _, v := range visits {
			v.Close()
		}
	}
	visits[0].prove("a") // it was closed in the handshake
	if d.strangers != 0 || len(d.pods) != 0 || len(d.addresses) != 0 {
		t.Errorf("when all have gone: %d strangers (%v), pods %v", d.strangers, d.addresses, d.pods)
	}
}
