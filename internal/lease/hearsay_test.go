package lease_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
)

// lie is a RENEW under the highest epoch of a generation, by a process that does not hold it.
var lie = held(epoch(1, lease.MaxBallot))

// F3: a voter that was told that it had no vote to give for an epoch, and then that the epoch has
// ended, follows the leaseholder that it has promised a lower epoch.
func TestALiarEndsNoEpochButItsOwn(t *testing.T) {
	s := newSolo(t, rosterOf(3), "P1")
	p := lie
	p.Lease = 2 * lease1 // too long, so it gets no vote
	s.askBy("P3", p)
	s.askBy("P3", lease.Request{Kind: lease.StepDown, Epoch: p.Epoch})
	if v := s.askBy("P2", held(epoch(1, 1))); !v.Granted {
		t.Fatal("the leaseholder gets no vote")
	}
	if holder, e, bound := s.Following(); holder != "P2" || e != epoch(1, 1) || !bound {
		t.Errorf("it follows %q %s, bound %v", holder, e, bound)
	}
}
