package agent

import "fmt"

// Epoch is the number of a lease: generation · 2²⁰ + ballot. It belongs to one process and only
// grows during the life of the group object. Programs compare it and pass it on as an integer; 0 is
// no epoch.
type Epoch int64

// ballotBits is how many of an epoch's bits are its ballot.
const ballotBits = 20

// String returns the epoch as people read it, such as 27996650.1. A resource is sent the integer.
func (e Epoch) String() string {
	return fmt.Sprintf("%d.%d", int64(e)>>ballotBits, int64(e)&(1<<ballotBits-1))
}
