package membership

import (
	"slices"
	"time"
)

// What may happen in the world.

// join has an agent connect and report what it uses.
func (w *world) join() {
	if a := w.pick(func(a *agent) bool { return a.runs() && !a.connected && !a.cutOff }); a != nil {
		a.connected = true
		w.report(a)
		w.note("%s (%s) joins", a.name, a)
	}
}

// report has an agent report.
func (w *world) report(a *agent) *Report {
	since := w.Now
	if old := w.Facts.report(a.uid); old != nil && old.Connected {
		since = old.Since
	}
	using := a.using
	if !w.canUse(a) {
		using = 0
	}
	w.set(Report{
		UID: a.uid, StateID: a.stateID, Generation: using, Connected: true, Since: since, Rules: a.rules,
	})
	return w.Facts.report(a.uid)
}

// take has an agent take the newest roster, if it is on it, and report so.
func (w *world) take(a *agent) {
	r := w.Roster
	if a == nil || r == nil || r.Generation < a.using ||
		!slices.ContainsFunc(r.Members, func(m Member) bool { return m.UID == a.uid }) ||
		!supports(a.rules, r.Rules) {
		return
	}
	if a.using != r.Generation {
		w.leave(a, w.rosters[r.Generation].lease)
		a.using = r.Generation
	}
	if w.random.IntN(4) > 0 { // else the report is still under way
		w.report(a)
	}
}

// leave notes until when promises of an agent may run that takes a roster with that lease: it
// renews those of the one before for a lease more (V4), but none for longer than the new roster's
// lease (V5).
func (w *world) leave(a *agent, lease time.Duration) {
	if a.using != 0 {
		a.used[a.using] = w.Now.Add(Outlast(2 * w.rosters[a.using].lease))
	}
	for generation, until := range a.used {
		if own := w.rosters[generation].lease; own > lease {
			a.used[generation] = earlier(until, w.Now.Add(Outlast(own)))
		}
	}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (w *world) disconnect() {
	if a := w.pick(func(a *agent) bool { return a.runs() && a.connected }); a != nil {
		w.hangUp(a)
		w.note("%s does not report", a)
	}
}

func (w *world) hangUp(a *agent) {
	if r := w.Facts.report(a.uid); a.connected && r != nil && r.Connected {
		r.Connected, r.Since = false, w.Now
	}
	a.connected = false
}

// end ends an agent in truth. Whether anybody gets to know is another thing.
func (w *world) end(a *agent) {
	w.hangUp(a)
	a.ended = w.Now
}

func (w *world) kill() {
	if a := w.pick((*agent).runs); a != nil {
		w.end(a)
		w.note("%s is killed", a)
	}
}

// evict: Kubernetes calls a pod Failed, as it does when its node is lost; the pod may run on.
func (w *world) evict() {
	if a := w.pick(func(a *agent) bool { return w.inAPI(a) && !w.pod(a.uid).Finished }); a != nil {
		w.pod(a.uid).Finished = true
		w.note("%s is called Failed", a)
	}
}

// deleteGracefully asks a pod to end; its agent says that it leaves, as its last word, at once or
// when it was told of the deletion.
func (w *world) deleteGracefully() {
	a := w.pick(func(a *agent) bool { return w.inAPI(a) && !w.pod(a.uid).deleting() })
	if a == nil {
		return
	}
	w.beginDeletion(a)
	w.note("%s is deleted", a)
	if w.random.IntN(4) == 0 {
		w.goodbye(a)
	}
}

// leaveDeleted has an agent whose pod is being deleted leave.
func (w *world) leaveDeleted() {
	if a := w.pick(func(a *agent) bool { return w.inAPI(a) && w.pod(a.uid).deleting() }); a != nil {
		w.goodbye(a)
	}
}

func (w *world) goodbye(a *agent) {
	if a.runs() && a.connected {
		r := w.report(a)
		r.Leaving, r.Left = true, true
		w.end(a)
		w.note("%s has left", a)
	}
}

// aboutToLeave has an agent whose pod is being deleted say that it leaves, and vote on.
func (w *world) aboutToLeave() {
	if a := w.pick(func(a *agent) bool { return a.runs() && a.connected && w.inAPI(a) && w.pod(a.uid).deleting() }); a != nil {
		w.report(a).Leaving = true
		w.note("%s is about to leave", a)
	}
}

func (w *world) beginDeletion(a *agent) {
	pod := w.pod(a.uid)
	pod.DeletionBegan, pod.DeletionDue = w.Now, w.Now.Add(2*time.Second)
}

// deleteByForce takes a pod out of the API, whatever its agent does.
func (w *world) deleteByForce() {
	if a := w.pick(w.inAPI); a != nil {
		w.removePod(a)
		w.note("%s is deleted by force", a)
	}
}

func (w *world) removePod(a *agent) {
	w.Pods = slices.DeleteFunc(w.Pods, func(p Pod) bool { return p.UID == a.uid })
}

// kubeletTells reports that a pod is over whose agent has ended; then the pod may go.
func (w *world) kubeletTells() {
	a := w.pick(func(a *agent) bool {
		return !a.runs() && w.inAPI(a) && w.newest(a) && !w.hasHiddenTwin(a)
	})
	if a == nil {
		return
	}
	w.pod(a.uid).Finished = true
	w.ends(a.uid)
	w.note("the kubelet says that %s has ended", a)
	if w.random.IntN(2) == 0 {
		w.removePod(a)
	}
}

// rebootRack loses several nodes while their kubelets start containers again: their pods are
// deleted, and nobody hears of their agents any more, which run on.
func (w *world) rebootRack() {
	for range 1 + w.random.IntN(4) {
		a := w.pick(func(a *agent) bool {
			return a.runs() && w.inAPI(a) && !w.pod(a.uid).deleting() && w.newest(a)
		})
		if a == nil {
			return
		}
		w.beginDeletion(a)
		a.connected = false
		w.note("the containers of %s are started again, and its pod is deleted", a)
	}
}

// drain ends several pods at once, and all is known of it at once.
func (w *world) drain() {
	for range 1 + w.random.IntN(4) {
		a := w.pick(func(a *agent) bool {
			return a.runs() && w.inAPI(a) && w.newest(a) && !w.hasHiddenTwin(a)
		})
		if a != nil {
			w.end(a)
			w.ends(a.uid)
			w.removePod(a)
			w.note("%s is drained", a)
		}
	}
}

// loseState has an agent start again with an empty state directory: another voter in the same pod.
func (w *world) loseState() {
	if a := w.pickWithState(); a != nil {
		w.end(a)
		w.startWithoutState(a)
		w.note("%s has lost its state", a)
	}
}

// replaceMachines has machines replaced under their nodes' names, while the old ones run on, cut
// off: of each pod a second agent starts, with an empty state directory.
func (w *world) replaceMachines() {
	if !w.replaces {
		return
	}
	for range 1 + w.random.IntN(4) {
		if a := w.pickWithState(); a != nil {
			w.hangUp(a)
			a.cutOff = true
			w.startWithoutState(a)
			w.note("the machine of %s is replaced, and runs on", a)
		}
	}
}

// hasHiddenTwin reports whether another agent of the same pod runs on a machine that is cut off,
// and no manager has recorded so: what the kubelet says of the pod is false then, and nobody can
// tell.
func (w *world) hasHiddenTwin(a *agent) bool {
	return slices.ContainsFunc(w.agents, func(b *agent) bool {
		return b.uid == a.uid && b != a && b.runs() && (w.Roster == nil ||
			!slices.ContainsFunc(w.Roster.Members, func(m Member) bool { return b.is(m) && m.Replaced }))
	})
}

func (w *world) pickWithState() *agent {
	return w.pick(
		func(a *agent) bool { return a.runs() && w.inAPI(a) && w.newest(a) && len(a.stateID) < 13 })
}

func (w *world) startWithoutState(a *agent) {
	w.agents = append(w.agents, &agent{
		name:    a.name,
		uid:     a.uid,
		stateID: a.stateID + "m",
		rules:   a.rules,
		used:    map[int64]time.Time{},
		mute:    w.Now.Add(Outlast(w.longest())),
	})
}

func (w *world) longest() time.Duration {
	if w.Roster != nil {
		return w.Roster.LongestLease
	}
	return second
}

// restartManager forgets all but what is persisted.
func (w *world) restartManager() {
	w.state, w.Begun, w.Inherited = State{}, w.Now, true
	w.Reports, w.Ended = nil, nil
	for _, a := range w.agents {
		a.connected = false
	}
	w.note("the manager starts again")
}

// wipeStatus loses the roster that is persisted, or sets it back to an older one.
func (w *world) wipeStatus() {
	if w.Roster == nil || w.state.roster == nil || w.replaces {
		return // no manager would know of the old one
	}
	w.Roster = &Roster{Generation: 1}
	if w.manage(); w.random.IntN(2) == 0 {
		w.Roster = nil
		w.manage()
	}
	w.note("the status was wiped")
}

// setBack restores an older status, or wipes it, while no manager runs. From then on the agents are
// the only ones who know.
func (w *world) setBack() {
	if w.Roster == nil || len(w.history) == 0 || w.state.above > 0 || w.replaces {
		return
	}
	w.restartManager()
	w.Roster = nil
	if w.random.IntN(4) > 0 {
		w.Roster = w.history[w.random.IntN(len(w.history))]
	}
	w.note("the status was set back to %d: %v", generationOf(w.Roster), votersOn(w.Roster))
}

// remembers has an agent that uses the newest roster report in time, if there is one: without any,
// nobody can know that the status was set back (see MC10).
func (w *world) remembers() {
	inTime := w.Begun.Add(returnWithin - time.Second)
	if w.state.above > 0 || len(votersAmong(w.Roster)) > 0 && w.Now.Before(inTime) {
		return
	}
	var newest *agent
	for _, a := range w.agents {
		if a.runs() && !a.cutOff && a.using > generationOf(w.Roster) && (newest == nil || a.using > newest.using) {
			newest = a
		}
	}
	if newest != nil && (!newest.connected || !w.canUse(newest)) {
		newest.connected, newest.rules = true, w.rosters[newest.using].roster.Rules
		w.report(newest)
	}
}

// show has the agents that are connected show the newest roster that they hold.
func (w *world) show() {
	w.Held = nil
	for _, a := range w.agents {
		if c := w.rosters[a.using]; a.runs() && a.connected && c != nil &&
			c.roster.Generation > generationOf(w.Held) {
			w.Held = c.roster
		}
	}
}

func (w *world) editLease() {
	leases := []time.Duration{400 * time.Millisecond, time.Second, 3 * time.Second}
	w.setLease(leases[w.random.IntN(len(leases))])
	w.note("the lease is %v now", w.Lease)
}

// calm has nothing bad happen for a while: all that run connect, and the kubelet tells of all that
// do not.
func (w *world) calm() {
	w.Pods = slices.DeleteFunc(w.Pods, func(p Pod) bool { return p.Finished || p.deleting() })
	for _, a := range w.agents {
		if a.runs() && (a.cutOff || !w.inAPI(a)) {
			w.end(a)
		}
		if !a.runs() {
			w.ends(a.uid)
		}
	}
	for _, a := range w.agents {
		if a.runs() {
			w.Ended = slices.DeleteFunc(w.Ended, func(e EndedPod) bool { return e.UID == a.uid })
			a.connected = true
			w.report(a)
		}
	}
	for tick := range 600 {
		w.Now = w.Now.Add(100 * time.Millisecond)
		if tick < 200 {
			w.mendBuilds()
		}
		if w.state.above > 0 && tick > 100 { // whoever does not run has ended for long enough
			adopt := max(generationOf(w.Held), generationOf(w.state.roster))
			w.Adopt = AdoptRequest{Generation: adopt, Newest: w.state.above}
		}
		if tick > 200 {
			w.forgetEnded()
		}
		for _, a := range w.agents {
			if a.runs() {
				w.take(a)
			}
		}
		w.manage()
		w.check()
	}
}

// forgetEnded has an operator confirm that all voters have ended that do not run.
func (w *world) forgetEnded() {
	w.Forget = ForgetRequest{Generation: generationOf(w.Roster), Processes: map[Identity]bool{}}
	for _, m := range votersAmong(w.Roster) {
		if !slices.ContainsFunc(w.agents, func(a *agent) bool { return a.is(m) && a.runs() }) {
			w.Forget.Processes[Identity{Name: m.Name, UID: m.UID}] = true
		}
	}
}
