package sim

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/node"
)

// KNOWN: a coordinator that was silent before it was followed is not suspected as long as its
// link stays open. (Status Table Bully 20 pinned this for a model of the detector. The detector
// of today names a silent process once, also when it becomes the coordinator after that.) P2's
// answers are late, so P1 suspects it and coordinates. P2's app is unhealthy for a while; when
// it is healthy, P2 says that it coordinates, P1 follows it, and P2 stands still.
func TestKnownSilentCoordinatorIsNotSuspected(t *testing.T) {
	h := begin(history{algorithm: "StatusTableBully", processes: 2})
	h.wait(t, "P1 follows P2", h.settled)
	h.hold(func(p, _ int32, m *node.Message) bool { return p == 1 && m.Type == node.Answer })
	h.wait(t, "P1 coordinates", func() bool { return h.follows(0) == "P1" })
	h.sicken(1, true)
	h.until(h.now + 4*T)
	h.sicken(1, false)
	h.wait(t, "P1 follows P2", func() bool { return h.follows(0) == "P2" })
	h.sleep(1, 100*T)
	h.until(h.now + 50*T)
	if h.broken != nil {
		t.Fatal(h.broken)
	}
	if got := h.follows(0); got != "P2" {
		t.Errorf("P1 follows %q: it suspects P2 now", got)
	}
}
