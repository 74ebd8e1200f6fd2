// Package election implements the classic election algorithms as pure state machines: an event goes
// in, messages and timers come out.
//
// The package has no clock, no randomness, no goroutines, no network and no log: the same state and
// the same event give the same output. Each algorithm is one file that reads like its page in the
// book. The driver of a [Machine] (internal/node, the simulator, the golden tests) keeps time,
// delivers messages, and reports which peers are down. The package imports the standard library
// only; a test checks that.
//
// # What is not guaranteed
//
//   - That there is only one coordinator. A Machine nominates: during a partition each side elects
//     its own, and package lease decides which of them may act.
//   - Concurrent use. A Machine belongs to one goroutine, and the slices of an [Output] are valid
//     only until the next Step.
package election

import "fmt"

// Process is a member of the group as the roster describes it.
type Process struct {
	Name     string
	Priority int32 // a process with priority 0 never coordinates
	// distinguishes a new process from an old one with the same name; not compared otherwise
	UID string
}

// Outranks reports whether p ranks above q: by priority, and by name where priorities are equal. So
// the order is total, as in the books, where priorities are unique.
func (p Process) Outranks(q Process) bool {
	if p.Priority != q.Priority {
		return p.Priority > q.Priority
	}
	return p.Name > q.Name
}

// Kind is the kind of a message, spelled in capitals as the seed spells it.
type Kind string

// The kinds of messages. View belongs to no algorithm: processes send it to detect that there are
// two coordinators.
const (
	Election       Kind = "ELECTION"
	OK             Kind = "OK"
	Coordinator    Kind = "COORDINATOR"
	Request        Kind = "REQUEST"
	StatusTable    Kind = "TABLE"
	Update         Kind = "UPDATE"
	ElectMe        Kind = "ELECT ME"
	NewCoordinator Kind = "NEW COORDINATOR"
	Elect          Kind = "ELECT"
	ElectNobody    Kind = "ELECT NOBODY" // from a process that has withdrawn
	Inquiry        Kind = "INQUIRY"
	Reply          Kind = "REPLY"
	View           Kind = "VIEW"
)

// ID identifies an election: the process that called it, in which incarnation, and its sequence
// number in that incarnation. It distinguishes the messages of an earlier election from those of
// the current one.
type ID struct {
	Initiator   string
	Incarnation uint64
	Sequence    uint64
}

// earlier reports whether id precedes than. It compares elections of the same initiator.
func (id ID) earlier(than ID) bool {
	if id.Incarnation != than.Incarnation {
		return id.Incarnation < than.Incarnation
	}
	return id.Sequence < than.Sequence
}

func (id ID) String() string {
	return fmt.Sprintf("%s/%d/%d", id.Initiator, id.Incarnation, id.Sequence)
}

// Message is what one process sends to another. It carries neither the sender nor a priority: the
// receiver takes the sender from the link and the priority from the roster.
type Message struct {
	Kind     Kind
	Election ID
	Process  string   // the process that the message is about: the candidate or the coordinator
	Hops     int      // how many links a ring message may still travel
	List     []string // the names that a ring message has collected
	Table    []Entry  // a copy of a process status table
}
