package main

import (
	"slices"

	"github.com/podesta-dev/podesta/client/agent"
	"github.com/podesta-dev/podesta/examples/internal/device"
)

// Ticket is a place in the queue: the epoch of the coordinator that gave it, and its number under
// that epoch. A process keeps its ticket when the coordinator changes, and so its place.
type Ticket = device.Turn

// request is what a process waits with.
type request struct {
	Process string `json:"process"`
	ID      int64  `json:"id"` // of this request: a process that has started again makes another one
	Ticket  Ticket `json:"ticket"`
}

// queue keeps requests in the order of their tickets, one of each process at most.
type queue struct {
	epoch   agent.Epoch
	given   int64 // tickets under this epoch
	waiting []request
}

// add adds a request, and returns its ticket: its own, if it has one. To add it again changes
// nothing.
func (q *queue) add(r request) Ticket {
	for _, w := range q.waiting {
		if w.Process == r.Process && w.ID == r.ID {
			return w.Ticket
		}
	}
	q.remove(r.Process)
	if (r.Ticket == Ticket{}) {
		q.given++
		r.Ticket = Ticket{Epoch: q.epoch, Number: q.given}
	}
	i, _ := slices.BinarySearchFunc(q.waiting, r, func(a, b request) int {
		return a.Ticket.Compare(b.Ticket)
	})
	q.waiting = slices.Insert(q.waiting, i, r)
	return r.Ticket
}

// remove removes the request of a process.
func (q *queue) remove(process string) {
	q.waiting = slices.DeleteFunc(q.waiting, func(r request) bool { return r.Process == process })
}

// next takes the first request out of the queue.
func (q *queue) next() (r request, ok bool) {
	if len(q.waiting) == 0 {
		return r, false
	}
	r, q.waiting = q.waiting[0], q.waiting[1:]
	return r, true
}
