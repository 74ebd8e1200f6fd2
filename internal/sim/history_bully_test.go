package sim

import (
	"slices"
	"testing"

	"github.com/podesta-dev/podesta/internal/node"
)

// While two processes of a Classic group have rosters by which each outranks the other, as after an
// edit of priorities that one has not heard of yet, each announces itself once in T at most
// (settling.go in internal/election). They answered COORDINATOR with COORDINATOR at once, for as
// long as that lasted: found by step-downs, where messages that arrived twice made ever more of
// them.
func TestCoordinatorsOfOppositeRosters(t *testing.T) {
	for _, algorithm := range []string{"Bully", "StatusTableBully"} {
		t.Run(algorithm, func(t *testing.T) { oppositeRosters(t, algorithm) })
	}
}

func oppositeRosters(t *testing.T, algorithm string) {
	w := NewWorld()
	w.begin(Options{Algorithm: algorithm, Seed: 4, Quiet: true, Processes: 2, Chaos: forever})
	w.until(100 * T)
	w.keepRosters = true
	for i := range w.managers {
		w.managers[i].down = forever
	}
	r := *w.api.newest().node
	r.Members = slices.Clone(r.Members)
	r.Generation++
	r.Members[0].Priority, r.Members[1].Priority = r.Members[1].Priority, r.Members[0].Priority
	highest, before := int32(0), w.Messages
	if outranks(&r.Members[0], &r.Members[1]) {
		highest = 1
	}
	w.step(1-highest, &node.Event{Type: node.RosterReceived, Roster: &r})
	w.until(w.now + 100*T)
	if sent := w.Messages - before; sent < 10 || sent > 3*100 {
		t.Errorf("%d messages in 100 T", sent)
	}
}
