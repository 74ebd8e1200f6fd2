package node

import (
	"slices"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// waiting holds messages of the election algorithm that arrived while this process knew who holds
// the lease (F5). A process that starts calls an election that need not be held: a RENEW will tell
// it who holds the lease. But if the leaseholder dies before that, the election is held, and a
// message that was lost here would be missed until a timer expires. So messages wait. They reach
// the algorithm when this process stops following the leaseholder.
//
// Messages that name a process which is not on the roster wait, too: for the next roster, which may
// name it, and for no longer than T.
type waiting struct{ messages []postponed }

// eachWaits is how many messages of one sender wait: those that arrived last.
const eachWaits = 2

type postponed struct {
	at    lease.Instant
	event election.Event
}

// add keeps a message. A VIEW says what was true when it was sent, so it does not wait.
func (w *waiting) add(e election.Event, now lease.Instant) {
	if e.Message.Kind == election.View {
		return
	}
	waits := 0
	w.messages = append(w.messages, postponed{now, e})
	for i, m := range slices.Backward(w.messages) {
		if m.event.Process != e.Process {
			continue
		}
		if waits++; waits > eachWaits {
			w.messages = slices.Delete(w.messages, i, i+1)
		}
	}
}

// take appends the messages that are no older than a duration to a slice, in the order in which
// they arrived, and keeps none.
func (w *waiting) take(
	events []election.Event, now lease.Instant, age time.Duration,
) []election.Event {
	for i := range w.messages {
		if m := &w.messages[i]; now-m.at <= age {
			events = append(events, m.event)
		}
	}
	w.messages = w.messages[:0]
	return events
}

// forget drops the messages of the elections that a process has called.
func (w *waiting) forget(name string) {
	w.messages = slices.DeleteFunc(w.messages, func(m postponed) bool {
		return m.event.Message.Election.Initiator == name
	})
}

// patience is how long a message waits. After that its sender follows the leaseholder: a promise
// that the sender's voter made before it started has run out (F1), and a RENEW has arrived.
func (n *Node) patience() time.Duration { return n.roster.Lease + 2*n.roster.Heartbeat }
