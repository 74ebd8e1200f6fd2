package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// What is KNOWN to go wrong. Each scenario shows one thing that the present code does not stand, and
// asserts that it goes wrong: it fails when that has been mended, and is then to be turned round. In
// fresh draws the fault is off, or what it breaks is not asked for.

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

// KNOWN: a process whose certificate has expired takes part again in the same run, and numbers its
// elections from 1 once more: two elections have one name.
func TestKnownElectionsCountedAnew(t *testing.T) {
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
		before := len(seen)
		w.until(w.now + 50*T)
		for p := range w.processes {
			if id := w.processes[p].seen.Last.Decision; seen[id.String()] && before > 0 {
				return
			}
		}
	}
	t.Error("every election had a name of its own")
}

// KNOWN: while two processes of a Classic group have rosters by which each outranks the other, as after
// an edit of priorities that one has not heard of yet, Bully answers COORDINATOR with COORDINATOR at
// once, for as long as that lasts. It ends with the roster, within about a heartbeat (MC9).
func TestKnownCoordinatorsOfOppositeRosters(t *testing.T) {
	w := NewWorld()
	w.begin(Options{Algorithm: "Bully", Seed: 4, Quiet: true, Processes: 2, Chaos: forever})
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
	if quiet := w.now - w.truth.lastSent; quiet > T || w.Messages-before < 100 {
		t.Errorf("%d messages, and none for %s", w.Messages-before, clockFormat(quiet))
	}
}
