package sim

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/node"
)

// A vote that waits for the disk while the certificate of its voter expires reaches nobody: the
// agent has ended the streams of others by then. The simulator used to deliver it.
func TestAVoteOfWhoIsOnNoRosterReachesNobody(t *testing.T) {
	h := begin(history{algorithm: "Bully", guarded: true, processes: 3})
	h.wait(t, "all follow the highest", h.allAgree)
	for i := range h.managers {
		h.managers[i].down = forever
	}
	h.Slow = 1000 // per mille: each write takes long enough to be met
	h.kill(2)
	voter := &h.processes[0]
	h.wait(t, "P1 writes its promise to P2", func() bool {
		return voter.disk.busy && voter.disk.making.Lease.To.Name == "P2"
	})
	h.step(0, &node.Event{Type: node.Expired})
	h.until(h.now + 50*T)
	if voter.disk.saved.lease.To.Name != "P2" {
		t.Error("P1 has not written its promise")
	}
	if h.broken != nil || h.holder() >= 0 {
		t.Errorf("place %d holds by the votes of one process on a roster: %v", h.holder(), h.broken)
	}
}
