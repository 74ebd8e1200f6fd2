package sim

import (
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// G5: what a leaseholder relies on is not more than what was promised.
//
// G6: who acts has the promise of a majority of its epoch's voters, its own only once it is on the
// disk.

// checkHold checks what a process may rely on after each of its steps.
func (w *World) checkHold(p int32, granted lease.Permission) {
	v := &w.processes[p]
	o := w.oracleOf(p)
	if o == nil || p == w.rogue || v.node.Lease() == nil {
		return
	}
	h := &o.holds[p]
	if h.number != v.number {
		*h = hold{number: v.number}
	}
	w.checkFollows(p, o, h)
	if granted.Epoch == 0 || v.clock.instant(w.now) >= granted.Deadline {
		if h.epoch != 0 {
			w.tell("%s holds %s no more", names[p], h.epoch)
			if v.clock.instant(w.now) >= h.deadline {
				w.Lapses++
			}
		}
		h.epoch = 0
		return
	}
	if h.epoch == granted.Epoch && h.deadline == granted.Deadline {
		return
	}
	if h.epoch != granted.Epoch {
		w.takes(p, o, granted.Epoch)
	}
	h.epoch, h.deadline, h.until = granted.Epoch, granted.Deadline, v.clock.when(granted.Deadline)
	w.checkMajority(p, o, h)
	w.checkAlone(p, o)
}

func (w *World) checkMajority(p int32, o *oracle, h *hold) {
	r := o.rosters[h.epoch.Generation()]
	if r == nil {
		w.fail("G6: %s holds %s, and nobody has made that generation", names[p], h.epoch)
		return
	}
	all, firm := 0, 0
	for i := range r.Members {
		q := &r.Members[i]
		if !q.Voter {
			continue
		}
		all++
		if w.promised(p, o, h, r, q) {
			firm++
		}
	}
	// by clocks beyond the bound a promise may have ended, and be another's by now
	if w.timed() && firm < all/2+1 {
		w.fail("G5, G6: %s holds %s until %s; %d of %d voters have promised it for so long", names[p],
			h.epoch, clockFormat(h.until), firm, all)
	}
}

// promised reports whether a voter has promised p its epoch for at least as long as p relies on it.
func (w *World) promised(p int32, o *oracle, h *hold, r *node.Roster, q *lease.Member) bool {
	self, place := &w.processes[p], w.place(q.Name)
	if place < 0 {
		return false
	}
	if q.Name == self.name {
		w.giveOwn(p, o, h, len(r.Members) == 1)
	}
	made := o.promise(place, w.stateNumber(place, q.StateID))
	return made.to == self.self && made.epoch >= h.epoch && made.until >= h.until
}

// giveOwn records p's vote for itself once it is on its disk.
func (w *World) giveOwn(p int32, o *oracle, h *hold, alone bool) {
	v := &w.processes[p]
	kept := &v.disk.saved.lease
	to, remaining := v.node.Lease().Promised()
	if kept.To != v.self || kept.Highest < h.epoch {
		return
	}
	if to == v.self && v.clock.instant(w.now)+remaining >= h.deadline || alone {
		// of that epoch or, beside it (V4), of a later one
		w.give(p, o, promise{v.self, kept.Highest, h.deadline, h.until})
	}
}

// stateNumber is which of a process's state directories that is.
func (w *World) stateNumber(p int32, id string) int {
	for n := range stateIDs[p] {
		if stateIDs[p][n] == id {
			return n
		}
	}
	return 0
}
