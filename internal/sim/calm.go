package sim

import (
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

const (
	// leftovers is how long pauses and delays of chaos last on, at most, and then some.
	leftovers = 25 * T
	// silence is how long at the end of calm nothing may be sent and nobody may change coordinators.
	silence = 20 * T
	// forever is after the end of every run.
	forever Time = 1 << 60
)

// quieten ends all faults. What is under way still comes; who is down comes back, unless this seed
// lets it rest; the rogue is stopped for good.
func (w *World) quieten() {
	w.calm = true
	w.tell("calm")
	for i := range w.pairs {
		l := &w.pairs[i]
		l.cut, l.clogged = w.now, w.now
	}
	w.mendLinks()
	if w.Ragged {
		w.sever(cut{
			shape: w.rng.IntN(shapes),
			about: w.someone(),
			salt:  w.rng.Uint32(),
		}, forever)
	}
	if w.rogue >= 0 {
		w.processes[w.rogue].up = false
		w.halt(w.rogue)
		w.plan(w.now+leftovers, Faults, expelTask, w.rogue)
	}
	for i := range w.managers {
		m := &w.managers[i]
		m.down, m.actsOn = min(m.down, w.now), min(m.actsOn, w.now)
	}
	w.mendBuilds()
	for p := range int32(len(w.processes)) {
		w.switchOff(p)
		w.mendProcess(p)
	}
}

// expel removes the rogue's pod. A ring believes what the rogue said until the roster changes
// (R12). If the rogue's pod went earlier, processes with an older roster may have passed its lies
// on since, so the group gets another roster.
func (w *World) expel(p int32) {
	if w.api.pods[p].there {
		w.removePod(p)
		return
	}
	for q := range w.api.pods {
		if pod := &w.api.pods[q]; pod.there && pod.priority > 0 {
			pod.priority++
			return
		}
	}
}

// mendLinks lets links that have lost a message be found broken soon.
func (w *World) mendLinks() {
	for p := range int32(len(w.processes)) {
		for q := range int32(len(w.processes)) {
			if l := w.pair(p, q); l.breaks > 0 {
				l.breaks = min(l.breaks, w.now+w.within(2*T))
				w.lookAt(p, q, l.breaks)
			}
		}
	}
}

func (w *World) mendProcess(p int32) {
	v := &w.processes[p]
	v.stranded = min(v.stranded, w.now)
	if !w.Guarded {
		rate := w.Rate
		w.Rate = 0
		w.changeRateOf(p)
		w.Rate = rate
	}
	if v.node != nil && v.leaving {
		w.plan(w.now+leftovers, Faults, departTask, p).number = v.number
	}
	switch {
	case !v.up && !v.gone && p != w.rogue && (!w.Rest || w.alone(p)):
		w.plan(w.now+w.within(2*T), Faults, startTask, p).value = planned
	case v.up && v.sick && !w.Rest:
		t := w.plan(w.now+w.within(2*T), Faults, healTask, p)
		t.value, t.number = planned, v.number
	}
	for i := range w.managers { // what was told and got lost is told again
		w.managers[i].told[p] = 0
	}
}

// alone reports whether nobody is up but p: then it does not rest, or there would be nothing to
// see.
func (w *World) alone(p int32) bool {
	for q := range w.processes {
		if int32(q) != p && w.processes[q].up && int32(q) != w.rogue {
			return false
		}
	}
	return true
}

// recovery is how long after the last fault, and after the last roster, all have to agree: what
// chaos left, elections that come to nothing, a lease that has to run out, a rest or a fallback, a
// hand-over.
func (w *World) recovery() Time {
	n := Time(len(w.processes))
	if w.Guarded {
		return leftovers + 100*T + n*T
	}
	return leftovers + 30*T + n*4*T
}

// awaitCalm lets calm go on until what chaos left has come to its end, and then until all is as it
// should be, but no longer than recovery takes. A roster that comes makes that begin anew.
func (w *World) awaitCalm(calm func() bool) {
	w.until(max(w.now, w.remains, w.lastGrace()))
	if w.rogue >= 0 {
		w.until(w.now + leftovers + 5*T)
	}
	rosters, end := -1, w.now
	for w.broken == nil {
		if len(w.api.rosters) != rosters {
			rosters, end = len(w.api.rosters), w.now+w.recovery()+w.ladder()+w.takingOver()
		}
		if w.now > w.Chaos+2000*T {
			w.fail("L1: the roster still changes")
		}
		w.until(w.now + 2*T)
		if len(w.api.rosters) == rosters &&
			(w.now >= end || w.managers[0].pending+w.managers[1].pending == 0 && !w.requestEnds() &&
				calm()) {
			return
		}
	}
}

// ladder is how long preemption may climb: from one to the next higher that has been steady for
// longest.
func (w *World) ladder() Time {
	if !w.Guarded || w.Preemption != lease.Delayed {
		return 0
	}
	return 2 * Time(w.Stable/time.Nanosecond)
}

// lastGrace is when the grace period of the last pod that is being deleted has passed, by a slow
// clock: its agent has left by then (MC6), which may make another roster.
func (w *World) lastGrace() (end Time) {
	if !w.Guarded {
		return 0
	}
	for i := range w.api.pods {
		if p := &w.api.pods[i]; p.there && p.deleting != 0 {
			end = max(end, p.deleting+p.grace*115/100)
		}
	}
	return end
}

// takingOver is how long a manager that started in this run may put off its first new roster
// (MC10), by a slow clock.
func (w *World) takingOver() Time {
	if !w.Guarded || w.managers[w.leader].leads == 0 {
		return 0
	}
	return 115 * T
}

// calmDownClassic lets calm go on, and checks what must have come of it.
func (w *World) calmDownClassic() {
	w.awaitCalm(w.quietClassic)
	if w.now-w.truth.lastSent < silence {
		w.until(w.now + silence)
	}
	w.checkStepDownInTheEnd()
	if w.broken == nil {
		w.checkClassicCalm()
	}
}

// calmDown does so in a Guarded group.
func (w *World) calmDown() {
	if w.OwnLink || w.Ragged {
		w.awaitCalm(func() bool { return w.OwnLink && w.quietGuarded() })
	} else {
		w.awaitCalm(w.quietGuarded)
	}
	switch {
	case w.OwnLink:
		w.checkOwnLink()
		return
	case w.Ragged:
		w.checkRagged()
		return
	}
	w.checkStepDownInTheEnd()
	held := w.truth.lastHeld
	if w.now-max(w.truth.lastSent, held) < silence {
		w.until(w.now + silence)
	}
	if w.broken == nil {
		w.checkGuardedCalm(held)
	}
}

// quietClassic reports whether everybody follows the highest live candidate, and nobody has
// anything to say.
func (w *World) quietClassic() bool {
	newest := w.api.newest()
	if newest == nil || w.now-w.truth.lastSent < silence {
		return false
	}
	best := w.best(newest.node.Members)
	for p := range w.processes {
		if v := &w.processes[p]; v.node != nil && v.up &&
			(v.roster != newest.node || v.seen.Coordinator != best.Name) {
			return false
		}
	}
	return true
}

// quietGuarded reports whether somebody holds whom everybody follows, the highest if it is to be,
// and nobody has anything to say.
func (w *World) quietGuarded() bool {
	newest, holder := w.api.newest(), w.holder()
	if newest == nil || holder < 0 || w.now-max(w.truth.lastSent, w.truth.lastHeld) < silence {
		return false
	}
	if w.Preemption != lease.Never && names[holder] != w.best(newest.node.Members).Name {
		return false
	}
	epoch := w.oracle().holds[holder].epoch
	for p := range w.processes {
		v := &w.processes[p]
		if v.node == nil || !v.up {
			continue
		}
		if v.roster != newest.node || v.seen.Coordinator != names[holder] || v.seen.Electing {
			return false
		}
		if who, e, _ := v.node.Lease().Following(); who != names[holder] || e != epoch {
			return false
		}
	}
	return true
}
