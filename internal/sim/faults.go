package sim

import (
	"time"

	"github.com/podesta-dev/podesta/internal/node"
)

// strike lets one fault happen, and plans the next.
func (w *World) strike() {
	if w.calm {
		return
	}
	w.plan(w.gap(), Faults, faultTask, 0)
	kinds := [...]struct {
		weight int
		strike func(*World)
	}{
		{w.Crash, (*World).crashSomebody}, {w.Cut, (*World).cutSomewhere},
		{w.Clog, (*World).clogSomewhere},
		{w.Pause, (*World).pauseSomebody}, {w.Suspect, (*World).deafenSomebody},
		{w.Break, (*World).breakSomething},
		{w.Sicken, (*World).sickenSomebody}, {w.Leave, (*World).sendAway},
		{w.Expire, (*World).expireSomebody},
		{w.Edit, (*World).editGroup}, {w.Forge, (*World).forge}, {w.StepWall, (*World).stepWall},
		{w.Suspend, (*World).suspendSomebody}, {w.ChangeRate, (*World).changeRate},
		{w.CutSession, (*World).cutSomeSession}, {w.EndApp, (*World).endSomeApp},
		{w.ReplacePod, (*World).replacePod}, {w.StopManager, (*World).stopManager},
		{w.EditLease, (*World).editLease},
		{w.Remake, (*World).remake}, {w.Strand, (*World).strand}, {w.Report, (*World).reportCoordinator},
		{w.SetBack, (*World).setBack}, {w.Upgrade, (*World).upgrade}, {w.StepDown, (*World).askStepDown},
		{w.Remark, (*World).remark}, {w.Replace, (*World).replaceMachines},
		{w.Roll, (*World).roll},
	}
	sum := 0
	for i := range kinds {
		sum += kinds[i].weight
	}
	if sum == 0 {
		return
	}
	pick := w.rng.IntN(sum)
	for i := range kinds {
		if pick -= kinds[i].weight; pick < 0 {
			w.Stats.Faults++
			kinds[i].strike(w)
			return
		}
	}
}

// lasting draws how long a fault lasts: mostly short, sometimes up to most.
func (w *World) lasting(most Time) Time {
	if w.rng.IntN(4) > 0 {
		most = max(most/8, 1)
	}
	return w.within(most)
}

// target is anybody, but rather often the coordinator, in somebody's view.
func (w *World) target() int32 {
	p := w.someone()
	if v := &w.processes[p]; v.roster != nil && w.rng.IntN(3) == 0 {
		if c := w.place(v.seen.Coordinator); c >= 0 {
			return c
		}
	}
	return p
}

func (w *World) crashSomebody() { w.crash(w.target()) }

// crash ends an agent, perhaps with its app, perhaps with its state directory; mostly it starts
// again.
func (w *World) crash(p int32) {
	v := &w.processes[p]
	if !v.up || w.calm {
		return
	}
	v.up, v.awake = false, w.now
	w.halt(p)
	if w.rng.IntN(2) == 0 {
		v.app = app{keeps: v.app.keeps}
	}
	if w.chance(w.Damaged) {
		w.damage(p)
	}
	if w.rng.IntN(10) > 0 {
		w.plan(w.now+w.lasting(40*T), Faults, startTask, p)
	}
}

// start starts an agent. What chaos planned is not done in calm.
func (w *World) start(p int32, forCalm bool) {
	v := &w.processes[p]
	if v.up || v.gone || w.calm != forCalm {
		return
	}
	v.up = true
	w.run(p)
}

func (w *World) pauseSomebody() {
	p := w.target()
	w.sleep(p, w.lasting(20*T))
	w.tell("%s is paused until %s", names[p], clockFormat(w.processes[p].awake))
}

// sleep lets nothing that comes to a process reach it for a while.
func (w *World) sleep(p int32, length Time) {
	w.processes[p].awake = w.now + length
	w.remains = max(w.remains, w.now+length)
}

// deafenSomebody lets a process miss the answers of its coordinator for a while: it suspects it.
func (w *World) deafenSomebody() {
	p := w.someone()
	if c := w.place(w.processes[p].seen.Coordinator); c >= 0 && c != p {
		w.tell("%s hears nothing of %s for a while", names[p], names[c])
		w.pair(c, p).cut = max(w.pair(c, p).cut, w.now+w.lasting(8*T))
	}
}

// reportCoordinator: an app reports that the coordinator does not answer it, be that so or not.
func (w *World) reportCoordinator() {
	p := w.someone()
	if c := w.processes[p].seen.Coordinator; c != "" && w.now >= w.processes[p].awake {
		w.tell("%s: its app reports that %s does not answer", names[p], c)
		w.step(p, &node.Event{Type: node.AppSuspects, From: c})
	}
}

// breakSomething breaks a link that works.
func (w *World) breakSomething() {
	p, q := w.someone(), w.someone()
	if l := w.pair(p, q); w.processes[p].node != nil && l.state == open {
		w.lost(p, q, l)
	}
}

// sickenSomebody: the app cannot do a coordinator's work for a while.
func (w *World) sickenSomebody() {
	p := w.target()
	v := &w.processes[p]
	if v.node == nil || v.sick || v.leaving {
		return
	}
	v.sick = true
	w.plan(w.now+w.lasting(40*T), Faults, healTask, p).number = v.number
	w.health(p)
}

func (w *World) recover(t *task) {
	v := &w.processes[t.p]
	if v.node != nil && v.number == t.number && v.sick && w.calm == (t.value == planned) {
		v.sick = false
		w.health(t.p)
	}
}

// sendAway: a container is stopped, or a pod is deleted: the agent hands over, and ends.
func (w *World) sendAway() {
	p := w.target()
	if w.processes[p].node == nil {
		return
	}
	if w.rng.IntN(2) == 0 && w.podCount() > 1 {
		w.deletePod(p)
		return
	}
	w.leave(p)
}

// longestLeave is for how long an agent that leaves goes on at most, if its pod is not being
// deleted.
const longestLeave = 25 * T

func (w *World) leave(p int32) {
	v := &w.processes[p]
	if v.node == nil || v.leaving || v.replacedUntil != 0 {
		return
	}
	v.leaving = true
	w.tell("%s is about to leave", v.name)
	most := longestLeave
	if pod := &w.api.pods[p]; pod.deleting != 0 {
		most = pod.grace
	}
	if w.sabotage.leavesAtOnce {
		most = 0
	}
	w.plan(w.now+most, Faults, departTask, p).number = v.number
	w.step(p, &node.Event{Type: node.Leave})
}

// depart: nothing is left to wait for, or no time.
func (w *World) depart(p int32) {
	v := &w.processes[p]
	w.tell("%s leaves", v.name)
	if w.rng.IntN(4) > 0 { // else its last word does not arrive
		w.reportNow(p)
	}
	if w.api.pods[p].deleting != 0 {
		w.removePod(p)
		if !w.calm && w.rng.IntN(2) == 0 {
			w.addPod(p)
		}
		return
	}
	v.up = false
	w.halt(p)
	v.app = app{keeps: v.app.keeps}
	t := w.plan(w.now+w.within(10*T), Faults, startTask, p)
	if w.calm {
		t.value = planned
	}
}

// expireSomebody: a certificate ends before a manager has signed the next.
func (w *World) expireSomebody() {
	p := w.someone()
	v := &w.processes[p]
	if v.node == nil {
		return
	}
	v.stranded = max(v.stranded, w.now+w.lasting(20*T))
	w.tell("%s: its certificate has expired", v.name)
	for i := range w.managers {
		w.managers[i].told[p] = 0
	}
	w.step(p, &node.Event{Type: node.Expired})
}

func (w *World) cutSomeSession() { w.cutSession(w.target()) }

func (w *World) endSomeApp() { w.endApp(w.target()) }

// stopManager stops a manager for a while, or both, or deposes the one that leads, which may not
// know that at first.
func (w *World) stopManager() {
	until := w.now + w.lasting(80*T)
	old := &w.managers[w.leader]
	switch w.rng.IntN(4) {
	case 0:
		w.managers[0].down, w.managers[1].down = until, until
		w.tell("both managers are down until %s", clockFormat(until))
		return
	case 1:
		old.down = until
	case 2, 3:
		old.actsOn = until
	}
	w.leader = 1 - w.leader
	w.tell("manager %d leads; the other acts on until %s", w.leader+1, clockFormat(old.actsOn))
}

// strand cuts some processes off from the managers for long: they go on with what they have.
func (w *World) strand() {
	if w.now < w.heard {
		return
	}
	until := w.now + w.lasting(100*T)
	if w.Forsake {
		until = max(until, w.Chaos)
	}
	for p := range w.processes {
		if w.rng.IntN(2) == 0 {
			w.processes[p].stranded = until
		}
	}
}

// stepWall sets a wall clock.
func (w *World) stepWall() {
	v := &w.processes[w.target()]
	by := Time(w.rng.Int64N(20_000_000_000)) - 10_000_000_000
	if w.rng.IntN(2) == 0 {
		by /= 100
	}
	v.clock.wall.shown += time.Duration(by)
}

// suspendSomebody suspends a machine: nothing runs on it, and CLOCK_BOOTTIME goes on.
func (w *World) suspendSomebody() {
	p := w.target()
	v := &w.processes[p]
	length := w.lasting(20 * T)
	w.sleep(p, length)
	v.clock.suspend(length)
	w.tell("%s is suspended for %s", v.name, clockFormat(length))
}

// changeRate lets a machine's clocks run at other rates from now on.
func (w *World) changeRate() {
	w.changeRateOf(w.someone())
}

func (w *World) changeRateOf(p int32) {
	v := &w.processes[p]
	v.clock.draw(w.rng, w.Rate, w.now)
	if v.node != nil && v.next != 0 {
		v.ticks = 0
		w.planTick(p, max(v.clock.when(v.next), w.now+1))
	}
	w.oracleRates(p)
}
