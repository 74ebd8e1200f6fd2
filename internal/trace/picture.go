package trace

import (
	"fmt"
	"slices"
	"time"
)

// Picture is what is known of one election.
type Picture struct {
	// ID names the announcement that ended it; empty: it is not known, or there was none.
	ID string `json:"id,omitempty"`
	// Coordinator is who was elected; empty: nobody yet. From is the coordinator before.
	Coordinator string `json:"coordinator,omitempty"`
	From        string `json:"from,omitempty"`
	// Epoch is that of the coordinator's lease; 0 in a Classic group.
	Epoch        int64  `json:"epoch,omitempty"`
	DisplayEpoch string `json:"displayEpoch,omitempty"`
	Algorithm    string `json:"algorithm,omitempty"`
	Initiator    string `json:"initiator,omitempty"`
	Reason       string `json:"reason,omitempty"`
	// At is when the manager first saw the result, by its clock. Sent and Milliseconds are what it
	// published of messages, and of the longest time without a coordinator.
	At   *time.Time `json:"at,omitempty"`
	Sent *int32     `json:"messages,omitempty"`
	// of one election, by the algorithm's page
	AtMost       *int32 `json:"messagesAtMost,omitempty"`
	Milliseconds *int64 `json:"durationMilliseconds,omitempty"`
	// Processes are those that are known to have had a part in it.
	Processes []Process `json:"processes"`
	// Events are in an order that agrees with happened-before. Where that leaves the order open,
	// Event.Unordered says so.
	Events []Event `json:"events"`
	// Unknown are sentences about what the accounts do not tell, and Contradictions about what does
	// not fit together in them.
	Unknown        []string `json:"unknown,omitempty"`
	Contradictions []string `json:"contradictions,omitempty"`

	ids []string // the announcements that accounts name
}

// Is reports whether an ID is of this election. A coordinator may announce itself more than once in
// one election, and processes name the announcement that they have followed.
func (p Picture) Is(id string) bool { return p.ID == id || slices.Contains(p.ids, id) }

// Process is a process with a part in an election.
type Process struct {
	Name string `json:"name"`
	// Account is true if the process itself gives an account; else what is shown of it is what others
	// tell, and there may have been more.
	Account bool `json:"account"`
	// Why says why there is no account.
	Why string `json:"why,omitempty"`
	// Follows is whom the process followed in the end, by its own account; empty: nobody yet.
	Follows string `json:"follows,omitempty"`
}

// What happened.
const (
	TakesPart = "TakesPart" // the process loses its coordinator, or is asked to take part
	Sends     = "Sends"
	Receives  = "Receives"
	Follows   = "Follows" // the process follows Peer, which may be the process itself
)

// Event is something that happened at a process.
type Event struct {
	// Number names the event within the picture, from 1 in the order of the list.
	Number int `json:"number"`
	// Step is how many messages and receipts, one after the other, are known to have led to this
	// event. What a process sends after a receipt is of the same step. Between processes, equal steps
	// mean that the order is not known.
	Step    int    `json:"step"`
	Process string `json:"process"`
	What    string `json:"what"`
	// Peer is who receives or has sent the message, or who is followed.
	Peer string `json:"peer,omitempty"`
	// Kind and About are the message's: what it says, and of whom.
	Kind  string `json:"kind,omitempty"`
	About string `json:"about,omitempty"`
	// Reason is why the process takes part.
	Reason string `json:"reason,omitempty"`
	// Microseconds is when it happened, from when the process began to take part, by its own clock.
	// Nil if the process itself does not tell of the event. It cannot be compared with that of another
	// process.
	Microseconds *int64 `json:"microseconds,omitempty"`
	// Inferred is true if the process itself does not tell of it in its account of this election:
	// another one received what it sent.
	Inferred bool `json:"inferred,omitempty"`
	// Pair is the number of the sending of what is received here, or of the receipt of what is sent
	// here; 0: no account of this election tells of it.
	Pair int `json:"pair,omitempty"`
	// After are the numbers of the events right before it: those that it is known to have happened
	// after follow from them all.
	After []int `json:"after,omitempty"`
	// Unordered is true if it is not known whether it happened before or after the event that is
	// listed before it.
	Unordered bool `json:"unordered,omitempty"`
}

// Title says in a line what came of an election in the group of that name.
func (p Picture) Title(group string) string {
	if p.Coordinator == "" {
		return fmt.Sprintf("An election goes on in %s", group)
	}
	title := fmt.Sprintf("%s was elected in %s", p.Coordinator, group)
	if p.From != "" {
		title += " after " + p.From
	}
	if p.DisplayEpoch != "" {
		title += ", under epoch " + p.DisplayEpoch
	}
	return title
}
