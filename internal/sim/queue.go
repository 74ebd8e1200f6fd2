package sim

// Time is virtual time. In a World it counts nanoseconds; in a scripted scenario, parts of a link
// delay.
type Time int64

// Rank orders what falls on the same instant: first what the world does, then what arrives, then
// who looks around, then whose time is up. So an answer that arrives exactly at T is in time.
type Rank uint64

// The ranks.
const (
	Faults Rank = iota
	Arrivals
	Looks
	Timeouts
)

// Queue is the scheduler: it holds tasks in the order of time, rank, and push. Tasks lie in slots
// that are used again, so in steady state it allocates nothing.
type Queue[E any] struct {
	heap   []entry
	slots  []E
	free   []int32
	pushed uint64
}

type entry struct {
	at    Time
	order uint64 // rank, then push
	slot  int32
}

func (e entry) before(f entry) bool { return e.at < f.at || e.at == f.at && e.order < f.order }

// Reset empties the queue and keeps its memory.
func (q *Queue[E]) Reset() {
	clear(q.slots)
	q.heap, q.slots, q.free, q.pushed = q.heap[:0], q.slots[:0], q.free[:0], 0
}

// Len returns how many tasks wait.
func (q *Queue[E]) Len() int { return len(q.heap) }

// Next returns when the next task is due. There must be one.
func (q *Queue[E]) Next() Time { return q.heap[0].at }

// Push returns the slot of a new task, for the caller to fill in before the next Push.
func (q *Queue[E]) Push(at Time, r Rank) *E {
	slot := int32(len(q.slots))
	if last := len(q.free) - 1; last >= 0 {
		slot, q.free = q.free[last], q.free[:last]
	} else {
		var zero E
		q.slots = append(q.slots, zero)
	}
	q.pushed++
	q.heap = append(q.heap, entry{
		at:    at,
		order: uint64(r)<<56 | q.pushed,
		slot:  slot,
	})
	q.rise(len(q.heap) - 1)
	return &q.slots[slot]
}

// Pop takes the next task out. There must be one.
func (q *Queue[E]) Pop() (Time, E) {
	next := q.heap[0]
	last := len(q.heap) - 1
	q.heap[0] = q.heap[last]
	if q.heap = q.heap[:last]; last > 1 {
		q.sink()
	}
	e := q.slots[next.slot]
	var zero E
	q.slots[next.slot] = zero
	q.free = append(q.free, next.slot)
	return next.at, e
}

func (q *Queue[E]) rise(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !q.heap[i].before(q.heap[parent]) {
			return
		}
		q.heap[i], q.heap[parent] = q.heap[parent], q.heap[i]
		i = parent
	}
}

func (q *Queue[E]) sink() {
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
