package sim

// task is something that is to happen. The fields that its kind does not name are zero.
type task struct {
	kind   taskKind
	p, q   int32
	slot   int32  // of a message
	number uint64 // what must not have changed since: an incarnation, a link's or a disk's turn
	value  Time
}

type taskKind uint8

const (
	mailTask    taskKind = iota + 1 // a message arrives; it lies in slot
	tickTask                        // a Tick of p is due
	linkTask                        // the link from p to q is made, tried again, or found broken
	retireTask                      // the link from p to q that retires has ended
	diskTask                        // a write of p has ended
	rosterTask                      // p gets the roster number slot
	reportTask                      // the agent of p reports to its manager
	pollTask                        // the app of p asks
	actTask                         // the app of p acts, late, under the epoch number
	stopTask                        // the app of p heeds a revocation
	manageTask                      // manager p takes its turn
	endedTask                       // the end of a pod becomes known
	faultTask                       // the next fault
	startTask                       // process p starts
	healTask                        // the app of p is healthy again
	cutTask                         // a cut that flaps, from its next turn on
	sampleTask                      // somebody looks whether the group is led
	expelTask                       // the rogue's pod is removed
	machineTask                     // the old machine of p is switched off
	departTask                      // p, which leaves, has no more time
)

// planned marks, by its value, a task that belongs to calm.
const planned Time = 1

func (w *World) plan(at Time, r Rank, k taskKind, p int32) *task {
	t := w.queue.Push(at, r)
	t.kind, t.p = k, p
	return t
}

// until lets happen what happens up to an instant.
func (w *World) until(end Time) {
	for w.broken == nil && w.queue.Len() > 0 && w.queue.Next() <= end {
		at, t := w.queue.Pop()
		w.now = at
		if !w.asleep(&t) {
			w.handle(&t)
		}
		if w.queue.Len() > w.capacity() {
			w.fail("G13: %d tasks wait", w.queue.Len())
		}
	}
	w.now = max(w.now, end)
}

// capacity bounds what may be under way at once: some messages for each pair, with all their
// duplicates.
func (w *World) capacity() int { return 1000 + 400*len(w.pairs) }

// asleep puts off what comes to a process that is paused: it reads its mail first when it wakes,
// then its timers run out.
func (w *World) asleep(t *task) bool {
	var r Rank
	p := t.p
	switch t.kind {
	case mailTask:
		r, p = Arrivals, t.q
	case linkTask, retireTask, rosterTask, pollTask, diskTask, stopTask, reportTask:
		r = Looks
	case tickTask:
		r = Timeouts
	default:
		return false
	}
	wakes := w.processes[p].awake
	if w.now >= wakes {
		return false
	}
	*w.queue.Push(wakes, r) = *t
	return true
}

func (w *World) handle(t *task) {
	switch t.kind {
	case mailTask:
		w.arrive(t)
	case tickTask:
		w.tick(t)
	case linkTask:
		w.tend(t)
	case retireTask:
		w.retired(t)
	case diskTask:
		w.written(t)
	case rosterTask:
		w.receiveRoster(t)
	case reportTask:
		w.report(t.p)
	case pollTask:
		w.poll(t.p)
	case actTask:
		w.actLate(t)
	case stopTask:
		w.heed(t)
	case manageTask:
		w.manage(t.p)
	default:
		w.handleFault(t)
	}
}

func (w *World) handleFault(t *task) {
	switch t.kind {
	case faultTask:
		w.strike()
	case startTask:
		w.start(t.p, t.value == planned)
	case healTask:
		w.recover(t)
	case cutTask:
		w.flap(t)
	case sampleTask:
		w.sample()
	case endedTask:
		w.api.learnEnd(t.number, w.now)
	case departTask:
		if v := &w.processes[t.p]; v.number == t.number && v.node != nil {
			w.depart(t.p)
		}
	case machineTask:
		w.switchOff(t.p)
	case expelTask:
		w.expel(t.p)
	default:
		w.fail("no such task: %d", t.kind)
	}
}
