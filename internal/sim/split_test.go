package sim

import (
	"testing"
)

// A roster reaches some of the voters, and then no manager reaches anybody. While the group was
// split by generation nobody could act, though all were connected: those who had the new roster
// renewed what they had promised under the old one for a lease only, and the others promised
// nothing under the new one. Now they pass the roster on (MC9).
func TestSplitByGenerationHeals(t *testing.T) {
	for _, c := range []struct {
		name      string
		processes int
		old       func(p, holder int32) bool // is left with the old roster
		dead      func(p, holder int32) bool
		zero      bool // nobody but the old leaseholder is a candidate any more
	}{
		{
			name:      "two of four have it",
			processes: 4,
			old:       func(p, holder int32) bool { return p == (holder+1)%4 || p == (holder+2)%4 },
		},
		{
			name:      "one of two that live",
			processes: 3,
			old:       func(p, holder int32) bool { return p == (holder+1)%3 },
			dead:      func(p, holder int32) bool { return p == (holder+2)%3 },
		},
		{
			name:      "two of four that live",
			processes: 5,
			old:       func(p, holder int32) bool { return p == (holder+1)%5 || p == (holder+2)%5 },
			dead:      func(p, holder int32) bool { return p == (holder+3)%5 },
		},
		{
			name:      "all but the sole candidate",
			processes: 4,
			old:       func(p, holder int32) bool { return p == holder },
			zero:      true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := script(t, 2, c.processes)
			holder := w.lead(t)
			for p := range int32(c.processes) {
				if c.dead != nil && c.dead(p, holder) {
					w.halt(p)
				}
				if c.old(p, holder) {
					w.processes[p].stranded = forever
				}
				if c.zero && p != holder {
					w.api.pods[p].priority = 0
				}
			}
			w.api.pods[holder].priority += 7
			w.awaitRoster(t)
			w.managers[0].down, w.managers[1].down = forever, forever
			w.until(w.now + 10*T)
			led, newest := w.Led, w.api.newest().node.Generation
			w.until(w.now + 60*T)
			if w.broken != nil {
				t.Fatal(w.broken)
			}
			if w.Led-led < 59*T {
				t.Errorf("led for %s of %s", clockFormat(w.Led-led), clockFormat(60*T))
			}
			for p := range w.processes {
				if v := &w.processes[p]; v.roster != nil && v.roster.Generation != newest {
					t.Errorf("%s uses generation %d, the newest is %d", v.name, v.roster.Generation, newest)
				}
			}
		})
	}
}

// awaitRoster lets the group run until there is another roster, and until it has reached somebody.
func (w *World) awaitRoster(t *testing.T) {
	t.Helper()
	generation := w.api.newest().node.Generation
	reached := func() bool {
		for p := range w.processes {
			if r := w.processes[p].roster; r != nil && r.Generation > generation {
				return true
			}
		}
		return false
	}
	for end := w.now + 1000*T; !reached(); w.until(w.now + T/10) {
		if w.broken != nil || w.now > end {
			t.Fatalf("no roster came: %v", w.broken)
		}
	}
}
