package sim

import (
	"fmt"
	"testing"

	"github.com/podesta-dev/podesta/internal/lease"
)

// glance is how often a watcher looks at the group.
const glance = T / 40

// watcher is what a user of the group sees while a script goes on: who may act, how long nobody
// may, for how long more than one may, and under which epochs.
type watcher struct {
	*stage
	actor   int32 // who may act, or who could last; −1: nobody yet
	epoch   lease.Epoch
	changes int // how often another process may act than before
	epochs  int // how many new epochs there were
	without Time
	nobody  Time // the longest time in which nobody might act
	several Time // the time in which more than one might
}

// watch begins to look at a group in which somebody acts.
func (h *stage) watch(t *testing.T) *watcher {
	t.Helper()
	v := &watcher{stage: h, actor: -1}
	v.look()
	if v.actor < 0 {
		t.Fatal("nobody acts in the beginning")
	}
	v.changes, v.epochs = 0, 0
	return v
}

// goes lets the group run for so long, and looks.
func (v *watcher) goes(span Time) {
	for end := v.now + span; v.now < end && v.broken == nil; {
		v.until(min(v.now+glance, end))
		v.look()
	}
}

// awaits lets the group run until something is so, and returns how long that took.
func (v *watcher) awaits(t *testing.T, what string, so func() bool) Time {
	t.Helper()
	begun := v.now
	for !so() {
		if v.goes(glance); v.broken != nil || v.now-begun > 400*T {
			t.Fatalf("%s: not within 400 T; %v", what, v.broken)
		}
	}
	return v.now - begun
}

// look notes who may act now.
func (v *watcher) look() {
	acting, first := 0, int32(-1)
	for p := range int32(len(v.processes)) {
		if v.mayAct(p) {
			acting, first = acting+1, p
		}
	}
	switch {
	case acting == 0:
		v.without += glance
		v.nobody = max(v.nobody, v.without)
		return
	case acting > 1:
		v.several += glance
	case v.actor != first:
		v.actor = first
		v.changes++
	}
	v.without = 0
	if v.Guarded {
		v.renewed(v.oracle().holds[first].epoch)
	}
}

func (v *watcher) renewed(e lease.Epoch) {
	if e != v.epoch {
		v.epoch = e
		v.epochs++
	}
}

// mayAct reports whether a process holds the lease, or in a Classic group takes itself for the
// coordinator.
func (v *watcher) mayAct(p int32) bool {
	q := &v.processes[p]
	if !v.Guarded {
		return q.node != nil && q.seen.Coordinator == q.name
	}
	held := &v.oracle().holds[p]
	return held.epoch != 0 && v.now < held.until
}

// shows is whom a process's agent names as the coordinator; empty: nobody.
func (h *stage) shows(p int32) string {
	if v := &h.processes[p]; v.node != nil {
		return v.node.View().Coordinator
	}
	return ""
}

// agreed reports whether every live process names this one as the coordinator.
func (h *stage) agreed(name string) bool {
	for p := range h.processes {
		if h.processes[p].node != nil && h.shows(int32(p)) != name {
			return false
		}
	}
	return true
}

// split cuts the network in parts, for so long. What is named in no part is left alone.
func (h *stage) split(length Time, parts ...[]int32) {
	for i, part := range parts {
		for _, other := range parts[i+1:] {
			for _, p := range part {
				for _, q := range other {
					h.cut(p, q, length)
				}
			}
		}
	}
}

// deafen lets nothing reach a process, though all hear it.
func (h *stage) deafen(p int32, length Time) {
	for q := range int32(len(h.processes)) {
		if q != p {
			h.pair(q, p).cut = h.now + length
		}
	}
}

// unchanged asserts that nothing has changed for the user.
func (v *watcher) unchanged(t *testing.T) {
	t.Helper()
	if v.changes != 0 || v.epochs != 0 || v.nobody != 0 || v.several != 0 {
		t.Errorf("want no change; got %s", v)
	}
}

// atMost asserts how often the coordinator changed, and how long nobody might act.
func (v *watcher) atMost(t *testing.T, changes int, nobody Time) {
	t.Helper()
	if v.changes > changes || v.nobody > nobody {
		t.Errorf("want at most %d changes and nobody for %s; got %s", changes, clockFormat(nobody), v)
	}
	if v.Guarded && v.several != 0 {
		t.Errorf("two acted at once: %s", v)
	}
}

func (v *watcher) String() string {
	return fmt.Sprintf("%d changes of the coordinator, %d new epochs, nobody for %s at a time, "+
		"several for %s in all", v.changes, v.epochs, clockFormat(v.nobody), clockFormat(v.several))
}
