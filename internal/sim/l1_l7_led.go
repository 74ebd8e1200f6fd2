package sim

import (
	"slices"

	"github.com/podesta-dev/podesta/internal/lease"
)

// L1: after the last fault, somebody may act within a bound, if a candidate is connected to a
// majority.
//
// L7: one-way and bridge links do not prevent that, in Guarded groups.

// sampled is how often somebody looks whether the group is led.
const sampled = T / 2

// sample notes whether somebody may act, and whether anybody could.
func (w *World) sample() {
	w.plan(w.now+sampled, Looks, sampleTask, 0)
	switch {
	case w.led():
		w.Led += sampled
		w.without = 0
	case w.leadable():
		w.Leaderless += sampled
		w.without += sampled
		w.checkWithout()
	default:
		w.without = 0
	}
}

// checkWithout: while a candidate is connected to a majority, nobody may act for a bounded time
// only, whatever befalls managers, rosters, disks, apps and other processes meanwhile. No bound
// holds where every fifth message is lost or late, or a process lies.
func (w *World) checkWithout() {
	unreliable := w.Loss > 50 || w.Tail > 20 || w.rogue >= 0
	if !w.timed() || unreliable || w.without <= w.recovery() {
		return
	}
	w.fail("L1: nobody may act for %s, and a candidate is connected to a majority all the time",
		clockFormat(w.without))
}

// led reports whether a process may act: it holds the lease, or in a Classic group takes itself for
// the coordinator.
func (w *World) led() bool {
	for p := range w.processes {
		v := &w.processes[p]
		switch {
		case v.roster == nil || w.now < v.awake:
		case w.Guarded:
			if o := w.oracleOf(int32(p)); o != nil && o.holds[p].epoch != 0 && w.now < o.holds[p].until {
				return true // perhaps of an object that was deleted, if no manager reaches its processes
			}
		case v.seen.Coordinator == v.name:
			return true
		}
	}
	return false
}

// leadable reports whether a candidate is connected to a majority: of the voters, in a Guarded
// group, of all in a Classic one. That some of them have an older roster than others is no excuse
// where it can be passed on (MC9); but a roster of another group object only a manager can give
// them.
func (w *World) leadable() bool {
	for p := range int32(len(w.processes)) {
		v := &w.processes[p]
		if !w.runs(p) || v.seen.Withdrawn {
			continue
		}
		connected, all, candidate := 0, 0, false
		for i := range v.roster.Members {
			m := &v.roster.Members[i]
			q := w.place(m.Name)
			candidate = candidate || q == p && m.Priority > 0
			if w.Guarded && !m.Voter {
				continue
			}
			all++
			if (q == p || w.runs(q) && w.reaches(p, q) && w.meet(p, q)) &&
				(!w.Guarded || w.votes(m) && w.groupOf(q) == w.groupOf(p)) {
				connected++
			}
		}
		if candidate && connected > all/2 {
			return true
		}
	}
	return false
}

// meet reports whether two processes know each other, or will once the one with the older roster
// has got a newer one from somebody (MC9). A process whose roster names nobody's pod that has a
// newer one waits for a manager.
func (w *World) meet(p, q int32) bool {
	if w.know(p, q) {
		return true
	}
	older, generation := p, w.processes[q].roster.Generation
	if own := w.processes[p].roster.Generation; own > generation {
		older, generation = q, own
	}
	for r := range int32(len(w.processes)) {
		if r != older && w.runs(r) && w.processes[r].roster.Generation >= generation &&
			w.reaches(older, r) && w.know(older, r) {
			return true
		}
	}
	return false
}

// runs reports whether a process takes part and is not paused.
func (w *World) runs(p int32) bool {
	return w.processes[p].roster != nil && w.now >= w.processes[p].awake
}

// votes reports whether a voter is there, with its state directory.
func (w *World) votes(m *lease.Member) bool {
	v := &w.processes[w.place(m.Name)]
	return m.Voter && v.roster != nil && v.self.StateID == m.StateID && v.self.UID == m.UID
}

// holder is who may act; −1 is nobody.
func (w *World) holder() int32 {
	for p := range w.processes {
		if h := &w.oracle().holds[p]; h.epoch != 0 && w.now < h.until {
			return int32(p)
		}
	}
	return -1
}

// candidate reports whether a process may come to lead, by the newest roster.
func (w *World) candidate(m *lease.Member) bool {
	v := &w.processes[w.place(m.Name)]
	return m.Priority > 0 && v.roster != nil && v.self.UID == m.UID && !v.sick &&
		!v.ledger.Deserted() && !v.leaving
}

// checkRagged checks that somebody holds most of the time though some links are cut for ever, if
// any candidate reaches a majority (L7).
func (w *World) checkRagged() {
	if w.broken != nil {
		return
	}
	if w.Beyond || !w.reachable() {
		w.Stopped++
		return
	}
	led, span := w.Led, 2*w.recovery()
	w.until(w.now + span)
	if w.broken == nil && w.Led-led < span/2 {
		w.fail("L1, L7: a candidate reaches a majority; in %s somebody could act for %s only",
			clockFormat(span), clockFormat(w.Led-led))
	}
}

// reachable reports whether some candidate has links both ways to a majority of the voters.
func (w *World) reachable() bool {
	newest := w.api.newest()
	if newest == nil {
		return false
	}
	members := newest.node.Members
	for i := range members {
		if !w.candidate(&members[i]) {
			continue
		}
		p, n := w.place(members[i].Name), 0
		for k := range members {
			if q := &members[k]; q.Voter && w.votes(q) && (i == k || w.reaches(p, w.place(q.Name))) {
				n++
			}
		}
		if n >= voters(members)/2+1 {
			return true
		}
	}
	return false
}

// checkOwnLink cuts one process off from the leaseholder: nobody else is disturbed, and the
// leaseholder goes on (T10). If another voter leaves meanwhile, that one votes until it is off the
// roster, whose generation raises the epoch.
func (w *World) checkOwnLink() {
	holder := w.holder()
	if w.broken != nil || holder < 0 {
		w.fail("L1: nobody holds though nothing has happened")
		return
	}
	epoch := w.oracle().holds[holder].epoch
	p := w.someone()
	for p == holder || w.processes[p].node == nil {
		p = w.someone()
	}
	w.tell("%s loses its link to %s, for ever", names[p], names[holder])
	w.pair(p, holder).cut, w.pair(holder, p).cut = forever, forever
	lost, end, left := w.Leaderless, w.now+w.recovery(), w.letVoterLeave(holder, p)
	for w.broken == nil && w.now < end && !w.counted(left) {
		w.until(min(w.now+T/4, end))
	}
	if w.broken != nil {
		return
	}
	if h := w.holder(); h != holder || w.Leaderless != lost ||
		left == "" && w.oracle().holds[h].epoch != epoch {
		w.fail("T10: %s lost its link to %s, which held %s: that cost the group its coordinator",
			names[p], names[holder], epoch)
	}
}

// letVoterLeave deletes the pod of a voter other than these two, and returns its name. It is empty
// if the voters that are left would not be enough for the leaseholder, or if no voter is to leave.
func (w *World) letVoterLeave(holder, unlinked int32) string {
	members := w.api.newest().node.Members
	if w.Leave == 0 || voters(members) < 4 {
		return ""
	}
	for i := range members {
		q := w.place(members[i].Name)
		if members[i].Voter && q != holder && q != unlinked && w.processes[q].node != nil {
			w.endWithin(q, longestGrace)
			return members[i].Name
		}
	}
	return ""
}

// counted reports whether a voter that left is off the newest roster, though an older one needs its
// vote: of four voters the leaseholder reaches two, itself among them, until it gets the newest.
func (w *World) counted(left string) bool {
	members := w.api.newest().node.Members
	return left != "" && voters(members) < 4 &&
		!slices.ContainsFunc(members, func(m lease.Member) bool { return m.Name == left && m.Voter })
}
