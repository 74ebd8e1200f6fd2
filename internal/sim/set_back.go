package sim

import (
	"github.com/podesta-dev/podesta/internal/membership"
)

// setBack restores an older status of the group, or wipes it, while no manager runs. Within MC10's
// bound: somebody knows better, and nobody is kept from the managers for as long as one that starts
// waits for reports.
func (w *World) setBack() {
	a := &w.api
	if !w.Guarded || a.newest() == nil || w.now < w.heard || !w.remembered(-1) {
		return
	}
	back := roster{group: a.group}
	if n := 1 + w.rng.IntN(a.version); w.rng.IntN(4) > 0 && a.rosters[n-1].group == a.group {
		back = a.rosters[n-1]
	}
	w.restore(back)
}

// restore makes a roster the one in the status. Both managers start again.
func (w *World) restore(back roster) {
	a := &w.api
	a.rosters = append(a.rosters, back)
	a.version = len(a.rosters)
	until := w.now + w.within(5*T)
	for i := range w.managers {
		m := &w.managers[i]
		m.restart(w.now)
		m.down = max(m.down, until)
	}
	w.heard = until + 120*T
	for p := range w.processes {
		w.processes[p].stranded = min(w.processes[p].stranded, w.now)
	}
	w.tell("the status is set back to %s", a.newest())
}

// remembered reports whether a process besides one uses the newest roster of the group. If none
// does, nobody can tell that a status was set back: that is beyond the promise.
func (w *World) remembered(besides int32) bool {
	newest := w.api.newestEver()
	for p := range w.processes {
		if newest != nil && int32(p) != besides && w.processes[p].roster == newest.node {
			return true
		}
	}
	return false
}

// mustStay reports whether a pod is the last that knows of a status that was set back, and the
// managers may not have heard of it.
func (w *World) mustStay(p int32) bool { return w.now < w.heard && !w.remembered(p) }

// adopt gives a manager that found the status set back what the agents show it and, when it is
// calm, an operator's word: all that run report then, so the newest that they hold is the newest
// that counts.
func (w *World) adopt(m *manager, f *membership.Facts) {
	f.Held, f.Adopt = nil, membership.AdoptRequest{}
	if m.above == 0 {
		return
	}
	for p := range m.reports {
		r, in := &m.reports[p], w.processes[p].roster
		if r.at == 0 || w.now-r.at >= patience || in == nil || in.Group != groups[m.group] ||
			f.Held != nil && f.Held.Generation >= in.Generation {
			continue
		}
		if shown := w.api.persisted(in); shown != nil {
			held := *shown
			held.StepDown = nil // agents know nothing of it
			f.Held = &held
		}
	}
	if w.calm && w.now-m.aboveAt > 40*T {
		f.Adopt.Newest = m.above
		if f.Held != nil {
			f.Adopt.Generation = f.Held.Generation
		}
		if known := m.state.Roster(); known != nil && known.Generation > f.Adopt.Generation {
			f.Adopt.Generation = known.Generation
		}
	}
}

// notice enters what a manager has found out of a status that was set back.
func (w *World) notice(m *manager, d membership.Decision) {
	if m.above == 0 && d.SetBack > 0 {
		m.aboveAt = w.now
	}
	m.above = d.SetBack
}
