package sim

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/node"
)

// A group is deleted and made again under the same name, and a manager with a stale cache tells the
// agents of the first one once more: A → B → A.

func (w *World) tellAll(r *node.Roster) {
	for p := range w.processes {
		w.step(int32(p), &node.Event{Type: node.RosterReceived, Roster: r})
	}
}

// remade lets a group A be led, then made again as B and led again. Then both managers stop, so
// that only the script tells rosters. It returns A's newest roster and who held its lease.
func remade(t *testing.T, seed uint64) (w *World, a *node.Roster, holder int32) {
	t.Helper()
	w = script(t, seed, 3)
	w.BackAndForth = true
	holder, a = w.lead(t), w.api.newest().node
	w.api.group++
	w.newOracle()
	w.lead(t)
	for i := range w.managers {
		w.managers[i].down = forever
	}
	return w, a, holder
}

// holdsIn returns which process holds the lease of a group; −1: none.
func (w *World) holdsIn(group string) int32 {
	for p := range w.processes {
		v := &w.processes[p]
		if v.roster == nil || v.roster.Group != group {
			continue
		}
		if _, deadline, ok := v.node.Lease().Permission(); ok && v.clock.instant(w.now) < deadline {
			return int32(p)
		}
	}
	return -1
}

// T5: voters that come back to a group object know what they promised in it. They used to forget,
// so that an epoch of A that somebody had held was held by another process.
func TestBackAndForthForgetsNothing(t *testing.T) {
	w, a, holder := remade(t, 1)
	for q := range int32(3) {
		if q != holder {
			w.pair(holder, q).cut, w.pair(q, holder).cut = forever, forever
		}
	}
	w.halt(holder) // so another one is elected in A this time
	w.tellAll(a)
	w.until(w.now + 100*T)
	if w.broken != nil {
		t.Fatal(w.broken)
	}
	if again := w.holdsIn(a.Group); again < 0 || again == holder {
		t.Errorf("P%d holds A's lease, want one of the two that are left", again+1)
	}
}

// The group that lives is not locked out: B → A → B, and B is led again, under a higher epoch.
func TestTheLiveGroupRecovers(t *testing.T) {
	w, a, _ := remade(t, 3)
	b := w.api.newest().node
	before := w.oracle().highest
	w.tellAll(a)
	w.until(w.now + 20*T)
	if w.holdsIn(a.Group) < 0 {
		t.Fatal("nobody leads A meanwhile: this test shows nothing")
	}
	w.tellAll(b)
	w.until(w.now + 20*T)
	if w.broken != nil {
		t.Fatal(w.broken)
	}
	if w.holdsIn(b.Group) < 0 || w.oracle().highest <= before {
		t.Errorf("B is led under %s at most, want an epoch above %s", w.oracle().highest, before)
	}
}
