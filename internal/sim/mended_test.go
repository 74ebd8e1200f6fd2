package sim

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// script begins a quiet group, and lets it run until all vote and somebody acts.
func script(t *testing.T, seed uint64, processes int) *World {
	t.Helper()
	w := NewWorld()
	w.begin(Options{Algorithm: "Bully", Seed: seed, Guarded: true, Quiet: true, Processes: processes, Chaos: forever,
		Lease: Lease{Lease: time.Second, Preemption: lease.Always}})
	w.until(100 * T)
	w.lead(t)
	return w
}

// lead lets a group run until somebody holds.
func (w *World) lead(t *testing.T) int32 {
	t.Helper()
	for range 200 {
		w.until(w.now + T)
		if w.broken != nil {
			t.Fatal(w.broken)
		}
		if h := w.holder(); h >= 0 {
			return h
		}
	}
	t.Fatal("nobody holds")
	return -1
}

// A roster of before its own pod came is passed over by a process that uses a newer one. It used to
// expel the process from the group that it is in.
func TestOldRosterIsPassedOver(t *testing.T) {
	w := script(t, 3, 3)
	old := *w.api.newest().node
	old.Generation--
	old.Members = append([]lease.Member(nil), old.Members...)
	old.Members[0].UID = "an earlier pod"
	w.step(0, &node.Event{Type: node.RosterReceived, Roster: &old})
	if w.processes[0].roster == nil {
		t.Error("the old roster has expelled P1")
	}
}

// A process whose certificate has expired takes part again in the same run. It used to number its
// elections from 1 once more, so that two had one name, and a Classic group might keep two
// coordinators.
func TestElectionsAreNumberedThrough(t *testing.T) {
	w := NewWorld()
	w.begin(Options{Algorithm: "RingList", Seed: 4, Quiet: true, Processes: 3, Chaos: forever})
	for range 50 {
		w.until(w.now + T)
	}
	seen := map[string]bool{}
	for range 3 {
		for p := range w.processes {
			if id := w.processes[p].seen.Last.Decision; id.Initiator == w.processes[p].name {
				seen[id.String()] = true
			}
			w.step(int32(p), &node.Event{Type: node.Expired})
			w.step(int32(p), &node.Event{Type: node.RosterReceived, Roster: w.api.newest().node})
		}
		if len(seen) == 0 {
			t.Fatal("there was no election")
		}
		w.until(w.now + 50*T)
		for p := range w.processes {
			if id := w.processes[p].seen.Last.Decision; seen[id.String()] {
				t.Errorf("%v is the name of two elections", id)
			}
		}
	}
}
