package sim

import (
	"strconv"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// process is a pod: the agent with its Node, the disk, the app, the clocks. It drives the Node as
// internal/agent does.
type process struct {
	name   string
	uid    int    // of the pod; 0: there has been none
	number uint64 // of the agent's runs under this name
	up     bool   // the agent's container runs
	gone   bool   // the pod has ended for good
	awake  Time   // paused until then

	self   lease.Incarnation
	node   *node.Node   // nil: the agent does not run
	roster *node.Roster // in use; nil: it takes part in no group
	seen   election.State
	next   lease.Instant // when its Node wants the next Tick
	ticks  Time          // when that is planned; 0: it is not

	clock  clock
	disk   disk
	ledger lease.Ledger
	app    app

	sick     bool // the app cannot do a coordinator's work
	leaving  bool
	boss     int   // the manager that the agent is connected to
	group    int   // the newest group object that the agent was told of
	sent     int64 // how many rosters were sent to it
	read     int64 // the newest of them that it has read: none comes after a later one
	stranded Time  // it reaches no manager until then
	// replacedUntil: the machine was replaced, and runs on until then (see replaceMachines); 0: it was
	// not.
	replacedUntil Time
	rules         int32 // the newest rules level that the agent's build supports; 0 is 1
	asked         bool  // it has asked for a newer roster
	heard         []uint64
	words         [16]word // that its voter has made last, given or not
	said          int      // of words
}

// names of simulated processes, in ring order.
var names = [...]string{"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9"}

// place is the place of a simulated process; −1 for a name of nobody's.
func (w *World) place(name string) int32 {
	if len(name) != 2 || name[0] != 'P' || name[1] < '1' || int(name[1]-'1') >= len(w.processes) {
		return -1
	}
	return int32(name[1] - '1')
}

// small are numbers as text, for UIDs and the like, that are written so often that they should not
// be made each time.
var small = func() (text [maxStateIDs]string) {
	for i := range text {
		text[i] = strconv.Itoa(i)
	}
	return text
}()

// uidOf is the UID of a name's n-th pod.
func uidOf(place int32, n int) string { return uids[place][n] }

var uids, stateIDs = func() (u [len(names)][maxPods]string, s [len(names)][maxStateIDs]string) {
	for p, name := range names {
		for n := range u[p] {
			u[p][n] = name + "-" + small[n]
		}
		for n := range s[p] {
			s[p][n] = name + "/" + small[n]
		}
	}
	return u, s
}()

// maxPods and maxStateIDs bound how many pods, and state directories, a name may have in a run.
const (
	maxPods     = 16
	maxStateIDs = 64
)

// begins makes a process at the beginning of a run.
func (w *World) begins(p int32) {
	v := &w.processes[p]
	v.name = names[p]
	v.heard = again(v.heard, len(w.processes))
	v.clock.boot.shown = lease.Instant(w.within(3600_000_000_000))
	v.clock.draw(w.rng, w.Rate, 0)
	v.app.keeps = w.Sessions && w.rng.IntN(2) == 0
	if int(p) < w.Processes {
		v.uid, v.up = 1, true
		w.run(p)
	} else {
		v.gone = true
	}
	w.plan(w.within(T), Looks, reportTask, p)
	if w.Guarded {
		w.plan(w.within(T), Looks, pollTask, p)
	}
}

// throttling is by how much a CPU quota of 100m may delay lease.Burst.
const throttling = 360 * time.Millisecond

// run starts the agent of a pod.
func (w *World) run(p int32) {
	v := &w.processes[p]
	v.number++
	v.self = lease.Incarnation{
		Name:    v.name,
		UID:     uidOf(p, v.uid),
		StateID: stateIDs[p][v.disk.number],
		Number:  v.number,
	}
	v.node = node.New(node.Config{
		Self:    v.self,
		Saved:   w.sabotage.read(v.disk.saved.lease),
		Seed:    w.rng.Uint64(),
		Now:     v.clock.read(w.now),
		Managed: true,
		Rules:   w.sabotage.level(v.rules),
		// every third incarnation has a CPU quota, which changes how long a lease it asks for (LH10)
		Throttled: time.Duration(v.number%3/2) * throttling,
	})
	v.roster, v.seen, v.ticks, v.next = nil, election.State{}, 0, 0
	v.ledger = lease.Ledger{}
	v.sick, v.leaving, v.asked = false, false, false
	v.app.start(v.self)
	clear(v.heard)
	v.said, v.words = 0, [len(v.words)]word{}
	for q := range int32(len(w.processes)) {
		r := w.pair(p, q)
		r.abort()
		r.wanted = false
	}
	w.tell("%s starts: run %d, state directory %s", v.name, v.number, v.self.StateID)
	for i := range w.managers {
		w.managers[i].told[p] = 0
	}
	if kept := v.disk.saved.roster; kept != nil {
		w.step(p, &node.Event{Type: node.RosterReceived, Roster: kept})
	}
}

// halt ends the agent at once. The kernel closes its links, where that gets through.
func (w *World) halt(p int32) {
	v := &w.processes[p]
	if v.node == nil {
		return
	}
	w.tell("%s ends", v.name)
	v.node, v.roster = nil, nil
	w.tear(p)
	for q := range int32(len(w.processes)) {
		w.pair(p, q).abort()
		if r := w.pair(q, p); r.state == open {
			w.look(q, p, w.within(Unit))
		}
	}
	w.oracle().holds[p].epoch = 0
}

// step gives an event to a process that runs, and does what it says.
func (w *World) step(p int32, e *node.Event) {
	v := &w.processes[p]
	if v.node == nil || w.broken != nil {
		return
	}
	e.Now = v.clock.read(w.now)
	w.Steps++
	w.obey(p, e, v.node.Step(*e))
}

// advance tells a process that a write has ended.
func (w *World) advance(p int32, number uint64, err error) {
	v := &w.processes[p]
	w.Steps++
	e := node.Event{Now: v.clock.read(w.now)}
	r := v.node.Advance(e.Now, number, err)
	w.obey(p, &e, r)
}

// tick lets a process look at the time, if it is time.
func (w *World) tick(t *task) {
	v := &w.processes[t.p]
	if v.node == nil || v.number != t.number || v.ticks != t.value {
		return
	}
	v.ticks = 0
	if at := v.clock.when(v.next); at > w.now {
		w.planTick(t.p, at)
		return
	}
	w.step(t.p, &node.Event{Type: node.Tick})
}

// planTick sees to it that the process ticks when its Node wants it.
func (w *World) planTick(p int32, at Time) {
	v := &w.processes[p]
	if v.ticks != 0 && v.ticks <= at {
		return // it looks then whether it is time
	}
	v.ticks = at
	t := w.plan(at, Timeouts, tickTask, p)
	t.number, t.value = v.number, at
}
