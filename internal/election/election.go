// Package election holds the classic election algorithms as pure machines: an event in, messages and timers out.
//
// It knows no clock, no randomness, no goroutine, no network and no log: the same state and the same event give the same
// output. Each algorithm is one file that reads like its page in the book. Whoever drives a Machine (internal/agent, the
// golden harness) keeps time, delivers messages and says which peers are down.
//
// What is not promised: a Machine is not safe for concurrent use, and the slices of an Output are valid until the next Step
// only. The package imports the standard library only; a test checks.
package election

import "fmt"

// Process is a member of the group as the roster names it.
type Process struct {
	Name     string
	Priority int32  // 0 never coordinates
	UID      string // tells a new process from an old one of the same name; not compared otherwise
}

// Outranks orders processes totally: by priority, and by name where priorities are equal (the books' priorities are unique).
func (p Process) Outranks(q Process) bool {
	if p.Priority != q.Priority {
		return p.Priority > q.Priority
	}
	return p.Name > q.Name
}

// Kind is the kind of a message, spelled as the seed spells it, in capitals.
type Kind string

// The kinds of messages. View belongs to no algorithm: it is how processes hear of two coordinators.
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
	ElectNobody    Kind = "ELECT NOBODY" // of a process that has withdrawn
	Inquiry        Kind = "INQUIRY"
	Reply          Kind = "REPLY"
	View           Kind = "VIEW"
)

// ID names one election: who called it, in which of its lives, and its how-manieth it was. A message of an earlier
// election is known by it.
type ID struct {
	Initiator   string
	Incarnation uint64
	Sequence    uint64
}

// earlier orders the elections of one initiator.
func (id ID) earlier(than ID) bool {
	if id.Incarnation != than.Incarnation {
		return id.Incarnation < than.Incarnation
	}
	return id.Sequence < than.Sequence
}

func (id ID) String() string {
	return fmt.Sprintf("%s/%d/%d", id.Initiator, id.Incarnation, id.Sequence)
}

// Message is what processes say to each other. It carries no priority and no sender: the receiver takes the one from the
// roster and the other from the link.
type Message struct {
	Kind     Kind
	Election ID
	Process  string   // whom the message is about: the candidate, the coordinator
	Hops     int      // links a ring message has still to travel, at most
	List     []string // the ids a ring message has collected
	Table    []Entry  // a copy of a process status table
}

// Status is what a process knows of another (seed 004, tables 4 and 5).
type Status string

// The statuses of the process status table.
const (
	Normal      Status = "NORMAL"
	Coordinates Status = "COORDINATOR"
	Crashed     Status = "CRASHED"
)

// Entry is a row of the process status table.
type Entry struct {
	Name   string
	Status Status
}
