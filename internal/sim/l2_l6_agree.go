package sim

import (
	"slices"

	"github.com/podesta-dev/podesta/internal/lease"
)

// L2: in the end all connected processes agree on who coordinates, and under which epoch.
//
// L3: nothing changes any more without a fault.
//
// L4: in Classic groups, and with preemption, it is the highest live candidate, or its equal where
// equals do not depose each other (PR2).
//
// L5: healed partitions merge: that is L2 after a cut.
//
// L6: traffic falls back to heartbeats: no message of an election is sent.

// checkClassicCalm checks that calm has brought agreement on the highest live candidate, and
// silence.
func (w *World) checkClassicCalm() {
	newest := w.api.newest()
	if newest == nil {
		w.Stopped++
		return
	}
	best, live := w.best(newest.node.Members), false
	for p := range w.processes {
		v := &w.processes[p]
		if v.roster == nil {
			w.checkLeftOut(v, newest)
			continue
		}
		live = true
		if v.roster.Generation != newest.node.Generation {
			w.fail("L2: in the end %s uses the roster %d, not %d", v.name, v.roster.Generation,
				newest.node.Generation)
		}
		if v.seen.Coordinator != best.Name {
			w.fail("L1, L2, L4, L5: in the end %s follows %q; the highest live candidate is %q", v.name,
				v.seen.Coordinator, best.Name)
		}
	}
	if best.Name == "" || !live {
		w.Stopped++
		return
	}
	w.CalmAfter = max(0, w.truth.lastSent-w.Chaos)
	w.checkSilence()
}

// rests reports whether a process is down for good, and its pod is not: it may be what a change of
// voters waits for.
func (w *World) rests() bool {
	for p := range w.processes {
		if v := &w.processes[p]; !v.up && !v.gone {
			return true
		}
	}
	return false
}

// checkLeftOut checks that a process without a roster is not on the newest one: else it would take
// part in nothing for ever, and nothing else here would say so.
func (w *World) checkLeftOut(v *process, newest *roster) {
	if v.node == nil || !v.up || v.leaving {
		return
	}
	for i := range newest.node.Members {
		if q := &newest.node.Members[i]; q.Name == v.name && q.UID == v.self.UID {
			w.fail("L2: in the end %s is on the newest roster, and has none", v.name)
		}
	}
}

func (w *World) checkSilence() {
	if w.now-w.truth.lastSent < silence {
		w.fail("L3, L6: a message is sent at %s, long after calm began", clockFormat(w.truth.lastSent))
	}
}

// best is the highest live candidate; without a name: there is none.
func (w *World) best(members []lease.Member) (best lease.Member) {
	for i := range members {
		if q := &members[i]; w.candidate(q) && (best.Name == "" || outranks(q, &best)) {
			best = *q
		}
	}
	return best
}

func outranks(q, best *lease.Member) bool {
	if q.Priority != best.Priority {
		return q.Priority > best.Priority
	}
	return q.Name > best.Name
}

// checkGuardedCalm checks that calm has brought a leaseholder that stays, whom all follow.
func (w *World) checkGuardedCalm(held Time) {
	newest := w.api.newest()
	if newest == nil {
		w.Stopped++
		return
	}
	members, live := newest.node.Members, 0
	for i := range members {
		if w.votes(&members[i]) {
			live++
		}
	}
	best := w.best(members)
	if w.Beyond || live < voters(members)/2+1 || best.Name == "" {
		w.Stopped++ // there is no majority, or no candidate: the group rightly stops
		return
	}
	holder := w.holder()
	if holder < 0 {
		w.fail("L1: nobody may act in the end")
		return
	}
	w.CalmAfter = max(0, w.truth.lastHeld-w.Chaos)
	w.checkAgreement(newest, holder)
	if n := w.managers[w.leader].pending; n > 0 && !w.rests() {
		w.fail("MC3: in the end %d voters are still to be added or removed", n)
	}
	name, epoch := names[holder], w.oracle().holds[holder].epoch
	if w.truth.lastHeld != held {
		w.fail("L3: %s began to hold %s at %s, long after calm began", name, epoch,
			clockFormat(w.truth.lastHeld))
	}
	i := slices.IndexFunc(members, func(q lease.Member) bool { return q.Name == name })
	if w.Preemption != lease.Never && (i < 0 || members[i].Priority != best.Priority) {
		w.fail("L4: in the end %s holds; the highest live candidate is %s", name, best.Name)
	}
	w.checkSilence()
}

func (w *World) checkAgreement(newest *roster, holder int32) {
	name, epoch := names[holder], w.oracle().holds[holder].epoch
	for p := range w.processes {
		v := &w.processes[p]
		if v.roster == nil {
			w.checkLeftOut(v, newest)
			continue
		}
		if v.roster.Generation != newest.node.Generation {
			w.fail("L2: in the end %s uses the roster %d, not %d", v.name, v.roster.Generation,
				newest.node.Generation)
		}
		if who, e, _ := v.node.Lease().Following(); who != name || e != epoch {
			w.fail("L2: in the end %s follows %q under %s; %s holds %s", v.name, who, e, name, epoch)
		}
		if v.seen.Coordinator != name || v.seen.Electing {
			w.fail("L2: in the end the election machine of %s names %q, electing %t; %s holds %s", v.name,
				v.seen.Coordinator, v.seen.Electing, name, epoch)
		}
	}
}
