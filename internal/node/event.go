package node

import (
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// EventType says what happened.
type EventType uint8

// The events that a Node understands.
const (
	// Tick: the time that Ready.Next named has come.
	Tick EventType = iota + 1
	// RosterReceived: Roster is the newest roster; nil if the group is gone.
	RosterReceived
	// LinkUp: our link to From is open.
	LinkUp
	// LinkDown: our link to From was closed or refused: nothing more comes from it. Unreachable: it
	// did neither, so it may run.
	LinkDown
	// LinkDropped: we ended our link to From ourselves. That says nothing about From.
	LinkDropped
	// Received: Message came from From, in its incarnation Incarnation, with the state directory
	// StateID.
	Received
	// Told: no permission that was handed to the app runs longer than Until. Sent after a
	// revocation, and whenever a session of the app has opened or closed. Deserted: the app has no
	// session, though it had one, or the group wants one.
	Told
	// Healthy and Unhealthy: the app can or cannot do a coordinator's work.
	Healthy
	Unhealthy
	// AppSuspects: the app reports that From, the coordinator, does not answer it.
	AppSuspects
	// AppAsked: the app learned whether it may act, Length after it had learned it before, under the
	// same lease of this process.
	AppAsked
	// Leave: the process is about to end on purpose. Ready.Left says when it may.
	Leave
	// Expired: the certificate of the process has ended; it takes part again with the next roster.
	Expired
)

// Event is one thing that happened; the fields that its type does not name are zero.
type Event struct {
	Type        EventType
	Now         lease.Reading // always
	From        string
	Incarnation uint64
	StateID     string
	Message     Message
	Roster      *Roster
	Until       lease.Instant
	Length      time.Duration
	Deserted    bool
	Unreachable bool
}

// MessageType says which of the three machines a message is for.
type MessageType uint8

// The types of messages.
const (
	// Election is a message of the election algorithm.
	Election MessageType = iota + 1
	// Question is the failure detector's: are you there, and whom do you follow?
	Question
	// Answer answers it.
	Answer
	// LeaseRequest and LeaseResponse belong to the lease protocol.
	LeaseRequest
	LeaseResponse
	// RosterRequest asks for the roster that the receiver uses, and RosterReply passes it on (MC9).
	RosterRequest
	RosterReply
)

// Message is what processes say to each other. The fields that its type does not name are zero.
type Message struct {
	Type MessageType
	To   string // whom it goes to; empty in an event
	// Question, LeaseRequest and RosterRequest: the driver's note of where the reply goes; given
	// back with it
	ReplyTo   any
	Algorithm string           // Election: which one its sender runs
	Election  election.Message // Election
	// Question and Answer: which question. Election: it numbers what this incarnation of the sender
	// has sent of elections, to whomever, from 1; 0: the sender does not say.
	Sequence   uint64
	Generation int64          // Question and Answer: of the roster that its sender uses
	Follows    string         // Answer: whom its sender follows; empty while it elects
	Request    lease.Request  // LeaseRequest
	Response   lease.Response // LeaseResponse
	Roster     *Roster        // RosterReply
}

// Roster is what a node has to know of a roster. Rosters of one group and generation are equal.
type Roster struct {
	Group        string // the UID of the group object: generations are compared within one only
	Generation   int64
	Algorithm    string
	Guarded      bool
	Heartbeat    time.Duration // between two questions, or two rounds of renewals
	Timeout      time.Duration // upper bound of T, within which a healthy process answers
	Lease        time.Duration // Guarded
	LeaseMinimum time.Duration // Guarded: the shortest that is asked for; 0: Lease
	Rules        int32         // Guarded: the rules level in force (MC11); 0 counts as 1
	Preemption   lease.Policy  // Guarded
	Stable       time.Duration // Guarded, Delayed
	Members      []lease.Member
}

// find looks a member up by name.
func (r *Roster) find(name string) (lease.Member, bool) {
	for _, m := range r.Members {
		if m.Name == name {
			return m, true
		}
	}
	return lease.Member{}, false
}

// names reports whether a name is a member's, or empty.
func (r *Roster) names(name string) bool {
	_, ok := r.find(name)
	return ok || name == ""
}

// has reports whether this very pod is a member.
func (r *Roster) has(name, uid string) bool {
	m, ok := r.find(name)
	return ok && m.UID == uid
}
