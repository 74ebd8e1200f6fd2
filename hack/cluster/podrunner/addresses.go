package podrunner

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
)

const hostIP = "127.0.0.1"

// addresses gives every pod a loopback address of its own: 127.64.x.y to 127.127.x.y. One runner
// takes one of these 64 blocks for itself, so that several on one machine do not meet.
type addresses struct {
	// an abstract socket: the kernel frees its name when this program ends, however it does
	claim net.Listener
	block byte

	mu    sync.Mutex
	next  uint16
	inUse map[netip.Addr]bool
}

func claimAddresses(ctx context.Context) (*addresses, error) {
	for block := byte(64); block < 128; block++ {
		claim, err := new(net.ListenConfig).Listen(ctx, "unix",
			fmt.Sprintf("@podesta.dev/cluster/127.%d.0.0", block))
		if err == nil {
			return &addresses{
				claim: claim,
				block: block,
				inUse: make(map[netip.Addr]bool),
			}, nil
		}
	}
	return nil, errors.New("64 local clusters run on this machine, there are no loopback addresses " +
		"left: stop one")
}

// take returns the address that has been free for longest. Addresses that end in 0 or 255 are left
// out.
func (a *addresses) take() (netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for range 1 << 16 {
		a.next++
		third, fourth := byte(a.next>>8), byte(a.next&0xff)
		address := netip.AddrFrom4([4]byte{127, a.block, third, fourth})
		if fourth == 0 || fourth == 255 || a.inUse[address] {
			continue
		}
		a.inUse[address] = true
		return address, nil
	}
	return netip.Addr{}, errors.New("every loopback address of this cluster is taken: delete pods")
}

func (a *addresses) release(address netip.Addr) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.inUse, address)
}

func (a *addresses) close() { _ = a.claim.Close() }
