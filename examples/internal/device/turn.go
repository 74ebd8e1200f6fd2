package device

import (
	"cmp"
	"fmt"

	"github.com/podesta-dev/podesta/client/agent"
)

// Turn is a right to use the device. Turns are ordered: by the epoch of the coordinator that gave
// the turn, by its number under that epoch, and by how often it was passed on since. The zero Turn
// is none.
type Turn struct {
	Epoch  agent.Epoch `json:"epoch"`
	Number int64       `json:"number"`
	Hop    int64       `json:"hop,omitempty"`
}

// Compare returns -1 if t comes before u, 1 if it comes after u, and 0 if they are the same.
func (t Turn) Compare(u Turn) int {
	return cmp.Or(cmp.Compare(t.Epoch, u.Epoch), cmp.Compare(t.Number, u.Number),
		cmp.Compare(t.Hop, u.Hop))
}

// String returns the turn as people read it, such as 1.3/2, or 1.3/2+57 after 57 hops.
func (t Turn) String() string {
	if t.Hop == 0 {
		return fmt.Sprintf("%v/%d", t.Epoch, t.Number)
	}
	return fmt.Sprintf("%v/%d+%d", t.Epoch, t.Number, t.Hop)
}
