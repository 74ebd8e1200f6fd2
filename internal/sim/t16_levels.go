package sim

import (
	"slices"

	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/node"
)

// T16: agents and managers of several releases, which are upgraded and rolled back (MC11). Nobody
// uses a roster of a rules level that its build does not support; the level changes by one, and not
// with the voters; nobody who still may act does so under a level two away from that in force.

// newestLevel is the highest rules level that a simulated build supports.
const newestLevel = 3

// drawBuilds draws of which release all are at first.
func (w *World) drawBuilds() {
	w.release = 0
	if w.Upgrade == 0 {
		return
	}
	w.release = int32(1 + w.rng.IntN(newestLevel))
	for i := range w.managers {
		w.managers[i].rules = w.release
	}
	for p := range w.processes {
		w.processes[p].rules = w.release
	}
}

// upgrade begins to go to the next release or the one before, or replaces a manager or an agent; or
// all at once, as a single `helm upgrade` does.
func (w *World) upgrade() {
	switch w.rng.IntN(12) {
	case 0:
		w.release = w.otherRelease()
	case 1:
		w.release = w.otherRelease()
		for i := range w.managers {
			w.replaceManager(i)
		}
		for p := range int32(len(w.processes)) {
			w.replaceAgent(p)
		}
	case 2, 3, 4:
		w.replaceManager(w.rng.IntN(len(w.managers)))
	default:
		w.replaceAgent(w.target())
	}
}

func (w *World) replaceManager(i int) {
	m := &w.managers[i]
	m.restart(w.now)
	m.rules = w.release
	w.tell("manager %d is replaced: it supports rules level %d", i+1, m.rules)
}

// replaceAgent starts an agent as the present release, in its pod, with its state directory, or in
// a new pod.
func (w *World) replaceAgent(p int32) {
	v := &w.processes[p]
	if w.rng.IntN(4) > 0 {
		w.crash(p)
	} else if w.api.pods[p].there && w.api.pods[p].deleting == 0 {
		w.removePod(p)
		w.addPod(p)
	}
	if v.node == nil {
		v.rules = w.release
		w.tell("%s is replaced: it supports rules level %d", v.name, v.rules)
	}
}

// otherRelease is the next one, or the one before.
func (w *World) otherRelease() int32 {
	return min(max(w.release+int32(2*w.rng.IntN(2)-1), 1), newestLevel)
}

// mendBuilds ends all upgrades: all are of the release whose rules level is in force, or, in half
// of the runs, of the next one. In a group that has no roster yet, that is any.
func (w *World) mendBuilds() {
	if w.Upgrade == 0 {
		return
	}
	level := int32(1 + w.Seed/2%2)
	if r := w.api.newest(); r != nil {
		level = lease.Level(r.node.Rules) + int32(w.Seed%2)
	}
	for i := range w.managers {
		w.managers[i].restart(w.now) // or it lowers the level for an agent that is replaced
		w.managers[i].rules = level
	}
	for p := range int32(len(w.processes)) {
		v := &w.processes[p]
		if v.rules == level {
			continue
		}
		if v.node != nil && v.up {
			v.up = false
			w.halt(p)
			w.plan(w.now+w.within(2*T), Faults, startTask, p).value = planned
		}
		v.rules = level
	}
}

// checkLevel checks a roster that a process begins to use.
func (w *World) checkLevel(p int32, r *node.Ready) {
	if v := &w.processes[p]; r.Roster != nil && r.Roster.Guarded &&
		!lease.Supports(v.rules, r.Roster.Rules) {
		w.fail("T16: %s uses a roster of rules level %d, and supports %d", v.name, r.Roster.Rules,
			v.rules)
	}
}

// checkNextLevel checks a roster that a manager makes of the newest one.
func (w *World) checkNextLevel(m *manager, r *membership.Roster) {
	if !w.Guarded {
		return
	}
	if !lease.Supports(m.rules, r.Rules) {
		w.fail("T16: a manager that supports rules level %d makes a roster of level %d", m.rules, r.Rules)
	}
	o := w.oracle()
	for p := range o.holds {
		h := &o.holds[p]
		if h.epoch == 0 || w.now >= h.until {
			continue
		}
		if under := o.rosters[h.epoch.Generation()]; under != nil && !nextTo(under.Rules, r.Rules) {
			w.fail("T16: %s may act under rules level %d, and level %d comes", names[p], under.Rules,
				r.Rules)
		}
	}
	was := w.api.newest()
	if was == nil || was.node.Rules == r.Rules || voters(was.node.Members) == 0 {
		return
	}
	if was.node.Rules < r.Rules {
		w.Raised++
	} else {
		w.Lowered++
	}
	// After a status was set back, a manager goes on with the newest roster that it knows.
	if ever := w.api.newestEver(); !follows(was, r) && !follows(ever, r) {
		w.fail("T16: from level %d with %v to level %d with %v", was.node.Rules, votersOf(was.members),
			r.Rules, votersOf(r))
	}
}

// follows reports whether a roster may come after another one: a level changes by one, and not with
// the voters, if there are any.
func follows(was *roster, r *membership.Roster) bool {
	return voters(was.node.Members) == 0 ||
		nextTo(was.node.Rules, r.Rules) && slices.Equal(votersOf(was.members), votersOf(r))
}

// nextTo reports whether a build can support both levels.
func nextTo(a, b int32) bool { return a-b <= 1 && b-a <= 1 }

// votersOf are the voters on a roster, each with its state directory.
func votersOf(r *membership.Roster) (some []string) {
	for i := range r.Members {
		if q := &r.Members[i]; q.Voter {
			some = append(some, q.UID+" "+q.StateID)
		}
	}
	return some
}
