package managerlease

import (
	"net"
	"strings"
)

// Holder is a manager that may hold the Lease.
type Holder struct {
	// Pod is the name of its pod; of its host, if it does not run in a pod.
	Pod string
	// Address is its HOST:PORT for agents; empty: others cannot watch it.
	Address string
	// Run tells this run of its program from all others.
	Run string
}

// String is the Lease's spec.holderIdentity: POD_ADDRESS_RUN, or POD_RUN without an address, as
// operators usually have it. Neither of the last two contains a "_".
func (h Holder) String() string {
	if h.Address == "" {
		return h.Pod + "_" + h.Run
	}
	return h.Pod + "_" + h.Address + "_" + h.Run
}

// holderOf reads what String has written. Of another text it makes a Holder without an address.
func holderOf(identity string) Holder {
	rest, run, _ := cutLast(identity)
	if pod, address, ok := cutLast(rest); ok {
		if _, _, err := net.SplitHostPort(address); err == nil {
			return Holder{
				Pod:     pod,
				Address: address,
				Run:     run,
			}
		}
	}
	return Holder{Pod: rest, Run: run}
}

func cutLast(s string) (before, after string, found bool) {
	i := strings.LastIndex(s, "_")
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}
