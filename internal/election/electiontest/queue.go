package electiontest

import "github.com/podesta-dev/podesta/internal/election"

// Time is virtual time.
type Time int64

// Unit is the delay of a link in a quiet network: the books' Ttrans, and twc of the rings. T is how long a process waits for
// an answer: T = 2·Ttrans + Tprocess, with Tprocess = 0. Where T stands for 200 ms, a Time counts milliseconds.
const (
	Unit Time = 100
	T         = 2 * Unit
)

// rank orders what falls on the same instant: first what the world does, then what arrives, then whose time is up. So an
// answer that arrives exactly at T is in time.
type rank uint64

const (
	faults rank = iota
	arrivals
	looks
	timeouts
)

// task is something that is to happen. The fields that its kind does not name are zero.
type task struct {
	kind       taskKind
	from, to   int32  // places of processes
	timer      int32  // which of the process's timers
	generation uint32 // of a timer, which may have been set anew since; of a sender's roster
	uid        uint8  // of a sender's pod
	life       uint64 // of the sender, or of the process that the task is for
	target     uint64 // life of the process that a message was sent to
	sequence   int    // of a message
	message    election.Message
}

type taskKind uint8

const (
	arrive taskKind = iota + 1 // message comes to process to
	expire                     // a timer of process to runs out
	other                      // what other kinds mean is up to who pushes them
)

// queue holds tasks in the order of time, rank, and push. Tasks lie in slots that are used again: in steady state it
// allocates nothing.
type queue struct {
	heap   []entry
	slots  []task
	free   []int32
	pushed uint64
}

type entry struct {
	at    Time
	order uint64 // rank, then push
	slot  int32
}

func (e entry) before(f entry) bool { return e.at < f.at || e.at == f.at && e.order < f.order }

// reset empties the queue and keeps its memory.
func (q *queue) reset() {
	clear(q.slots)
	q.heap, q.slots, q.free, q.pushed = q.heap[:0], q.slots[:0], q.free[:0], 0
}

func (q *queue) len() int { return len(q.heap) }

// push returns the slot of a new task, for the caller to fill in.
func (q *queue) push(at Time, r rank) *task {
	slot := int32(len(q.slots))
	if last := len(q.free) - 1; last >= 0 {
		slot, q.free = q.free[last], q.free[:last]
	} else {
		q.slots = append(q.slots, task{})
	}
	q.pushed++
	q.heap = append(q.heap, entry{at: at, order: uint64(r)<<56 | q.pushed, slot: slot})
	q.rise(len(q.heap) - 1)
	return &q.slots[slot]
}

// pop takes the next task out. The copy is the caller's.
func (q *queue) pop() (Time, task) {
	next := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	if q.heap = q.heap[:last]; last > 1 {
		q.sink()
	}
	t := q.slots[next.slot]
	q.slots[next.slot] = task{}
	q.free = append(q.free, next.slot)
	return next.at, t
}

func (q *queue) rise(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.heap[i].before(q.heap[parent]) {
			return
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

func (q *queue) sink() {
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(q.heap) {
			return
		}
		if right := child + 1; right < len(q.heap) && q.heap[right].before(q.heap[child]) {
			child = right
		}
		if !q.heap[child].before(q.heap[i]) {
			return
		}
		q.heap[i], q.heap[child] = q.heap[child], q.heap[i]
		i = child
	}
}
