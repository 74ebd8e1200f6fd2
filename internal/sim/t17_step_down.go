package sim

import (
	"time"

	"github.com/podesta-dev/podesta/internal/membership"
)

// T17: operators ask that the coordinator step down, for a while or not, to somebody or to whoever
// ranks highest, about what they see or about what was so (MC12). A request begins once, on the
// roster that the operator saw. In the end none leaves the group without a coordinator.

// aDay is so long that a request stands until its run has ended.
const aDay = membership.MaxStepDown

// askStepDown: an operator asks for something, or takes back what was asked for.
func (w *World) askStepDown() {
	a := &w.api
	newest := a.newest()
	if newest == nil {
		return
	}
	if w.rng.IntN(5) == 0 {
		a.stepDown = membership.StepDownRequest{}
		w.tell("the request is taken back")
		return
	}
	p := w.target()
	a.stepDowns++
	a.stepDown = membership.StepDownRequest{
		ID:         small[a.stepDowns%len(small)] + "/" + small[a.stepDowns/len(small)%len(small)],
		Generation: newest.node.Generation,
		Process:    w.podOf(p),
	}
	if h := &w.oracle().holds[p]; w.Guarded {
		a.stepDown.Epoch = int64(h.epoch)
	}
	if w.rng.IntN(3) == 0 {
		a.stepDown.To = w.podOf(w.someone())
	}
	switch w.rng.IntN(4) {
	case 0, 1:
		a.stepDown.For = time.Second * time.Duration(1+w.rng.IntN(20))
	case 2:
		a.stepDown.For = aDay
	}
	w.tell("an operator asks for %+v", a.stepDown)
}

func (w *World) podOf(p int32) membership.Identity {
	return membership.Identity{Name: names[p], UID: uidOf(p, w.api.pods[p].uid)}
}

// coordinator is who coordinates, as a manager knows it from reports: of the voters in a Guarded
// group, of all that report in a Classic one.
func (w *World) coordinator(m *manager, f *membership.Facts) (known membership.Coordinator) {
	if w.Guarded && f.Roster == nil {
		return known
	}
	count, epochs := 0, map[string][]int64{}
	for p := range m.reports {
		r := &m.reports[p]
		if r.at == 0 || w.now-r.at >= patience || r.group != m.group ||
			w.Guarded && !votesOn(f.Roster, r) {
			continue
		}
		count++
		if r.follows != "" {
			epochs[r.follows] = append(epochs[r.follows], r.epoch)
		}
	}
	if w.Guarded {
		count = len(votersOf(f.Roster))
	}
	name, epoch := membership.Followed(count, epochs)
	if name == "" {
		return known
	}
	return membership.Coordinator{Identity: w.podOf(w.place(name)), Epoch: epoch}
}

// mistake lets a manager be wrong about a request.
func (w *World) mistake(f *membership.Facts) {
	if f.Roster == nil {
		return
	}
	stands := f.Roster.StepDown != nil && f.Roster.StepDown.Outcome == membership.Standing
	switch {
	case w.sabotage.anyRequest && f.Coordinator.Name != "":
		f.StepDown.Generation, f.StepDown.Epoch = f.Roster.Generation, f.Coordinator.Epoch
		f.StepDown.Process = f.Coordinator.Identity
	case w.sabotage.endlessRequest && stands && f.Roster.StepDown.Until != (time.Time{}):
		f.Coordinator = membership.Coordinator{Identity: membership.Identity{Name: "somebody"}}
	}
}

// votesOn reports whether a report is that of a voter on a roster.
func votesOn(r *membership.Roster, by *report) bool {
	for i := range r.Members {
		if q := &r.Members[i]; q.Voter && q.UID == by.uid && q.StateID == by.stateID {
			return true
		}
	}
	return false
}

// checkStepDown checks a roster that a manager makes of the newest one.
func (w *World) checkStepDown(is *membership.Roster) {
	if is.StepDown == nil || is.StepDown.Outcome != membership.Standing {
		return
	}
	id, was := is.StepDown.ID, int64(0)
	if last := w.api.newest(); last != nil {
		was = last.members.Generation
		if d := last.members.StepDown; d != nil && d.ID == id && d.Outcome == membership.Standing {
			return
		}
	}
	o := w.oracle()
	if w.SetBack > 0 { // what one status says of it, another one need not
		w.StepDowns++
		return
	}
	if o.stepDowns[id] {
		w.fail("T17: the request %s begins again", id)
	}
	o.stepDowns[id] = true
	w.StepDowns++
	if asked := &w.api.stepDown; asked.ID != id || asked.Generation != was ||
		asked.Process.Name != is.StepDown.Process {
		w.fail("T17: the request %+v begins on roster %d, when %+v is asked for", is.StepDown, was, asked)
	}
}

// requestEnds reports whether a request will end by itself before the run does.
func (w *World) requestEnds() bool {
	newest := w.api.newest()
	if newest == nil || newest.members.StepDown == nil ||
		newest.members.StepDown.Outcome != membership.Standing {
		return false
	}
	until := newest.members.StepDown.Until
	return until.IsZero() || !w.led() || until.Sub(w.managers[w.leader].clock(w.now)) < aDay/2
}

// checkStepDownInTheEnd checks that nobody stands aside while nobody else leads.
func (w *World) checkStepDownInTheEnd() {
	newest := w.api.newest()
	if newest == nil || newest.members.StepDown == nil {
		return
	}
	if d := newest.members.StepDown; d.Outcome == membership.Standing && !w.led() {
		w.fail("T17: in the end %s stands aside, and nobody leads", d.Process)
	}
}
