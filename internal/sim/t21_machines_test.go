package sim

import "testing"

// Two of three machines are replaced under their nodes' names, and run on, cut off, with the
// leaseholder among them: to the managers, both voters came back with other state directories. They
// used to take that for the end of both, and the third process acted alone beside the two (G1).
func TestReplacedMachines(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		h := begin(history{algorithm: "Bully", guarded: true, processes: 3})
		h.wait(t, "all follow the highest", h.allAgree)
		for p := int32(1); p < 3; p++ {
			h.replaceMachine(p, h.now+400*T)
		}
		h.wait(t, "the roster records both", func() bool {
			return h.recordsReplaced(h.api.newest(), 1) && h.recordsReplaced(h.api.newest(), 2)
		})
		if deleted { // and the new kubelets call the pods over
			h.removePod(1)
			h.removePod(2)
		}
		h.until(h.now + 100*T)
		if h.broken != nil || h.holder() < 1 {
			t.Fatalf("deleted %v: place %d holds; %v", deleted, h.holder(), h.broken)
		}
		h.calm(t)
	}
}
