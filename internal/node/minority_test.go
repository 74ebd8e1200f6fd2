package node_test

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// No minority of the voters is needed for a lease to go on, whichever it is, and whether its links
// close or it is silent.
func TestNoMinorityEndsALease(t *testing.T) {
	for _, n := range []int{3, 4, 5, 7} {
		for lost := range 1 << (n - 1) { // of the others, as bits
			if bits.OnesCount(uint(lost)) > (n-1)/2 {
				continue
			}
			for _, silent := range []bool{false, true} {
				losing(t, n, lost, silent)
			}
		}
	}
}

// losing has the leaseholder of a group lose some of the others for three leases. A step fails the
// test that revokes the permission.
func losing(t *testing.T, n, lost int, silent bool) {
	t.Helper()
	p := join(t, n, n)
	for _, k := range []lease.Kind{lease.PreVote, lease.Vote} {
		p.answer(t, k)
	}
	for i := range n - 1 {
		if lost&(1<<i) == 0 {
			continue
		}
		name := fmt.Sprintf("P%d", i+1)
		p.mute(name)
		if !silent {
			p.step(t, node.Event{Type: node.LinkDown, From: name})
		}
	}
	for end := p.now + 3*leaseTime; p.now < end; {
		p.now += 50 * ms
		p.step(t, node.Event{Type: node.Tick})
		p.answer(t, lease.Renew)
		if p.permission.Deadline <= p.now {
			t.Fatalf("of %d it loses %b (silent: %v), and holds the lease until %v at %v", n, lost, silent,
				p.permission.Deadline, p.now)
		}
	}
}
