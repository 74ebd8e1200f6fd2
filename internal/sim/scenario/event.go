package scenario

import "github.com/podesta-dev/podesta/internal/election"

// Event is something that happened, in the order in which it did.
type Event struct {
	At   Time
	Kind EventKind
	// that it happened to; the sender of what is Sent, the receiver of what is Delivered or Lost
	Process string
	// the other process: of a message, of a link, the one suspected or followed
	Peer     string
	Message  election.Message // Sent, Delivered, Lost
	Sequence int              // of the message, from 1; the same in Sent and in Delivered or Lost
	Note     string           // which timer ran out, why a message was lost, which sides a cut has
}

// EventKind says what happened.
type EventKind string

// The kinds of events.
const (
	Sent      EventKind = "Sent"
	Delivered EventKind = "Delivered"
	Lost      EventKind = "Lost"      // at the time when it would have been delivered
	TimedOut  EventKind = "Timeout"   // the process waited in vain
	HasFailed EventKind = "Crashed"   // the process is down from now on
	Recovered EventKind = "Recovered" // the process starts anew
	Follows   EventKind = "Follows"   // the process takes Peer for the coordinator; it may be itself
	WasCut    EventKind = "Cut"
	Healed    EventKind = "Healed"
	Suspects  EventKind = "Suspects"  // its failure detector holds its coordinator, Peer, for gone
	LinkDown  EventKind = "LinkDown"  // the process learns that Peer does not answer
	LinkUp    EventKind = "LinkUp"    // the process learns that Peer is there again
	Starts    EventKind = "Starts"    // the process starts, and was not down before
	Withdraws EventKind = "Withdraws" // its app is unhealthy: it is no candidate
	Restored  EventKind = "Restored"  // its app is healthy again
	Changed   EventKind = "Changed"   // the process has a new roster
	Paused    EventKind = "Paused"    // the process stands still for a while
	Resumed   EventKind = "Resumed"
)
