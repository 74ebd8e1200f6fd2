package lease

import "time"

// EventType says what happened.
type EventType uint8

// The events that a Machine understands.
const (
	// Tick: the time that Next named has come.
	Tick EventType = iota + 1
	// RosterChanged: the roster is now Roster; nil: no roster names this process.
	RosterChanged
	// Requested: From sent Request.
	Requested
	// Responded: From sent Response.
	Responded
	// Nominated: the election algorithm names Process; empty while it elects.
	Nominated
	// Suspected: the failure detector suspects Process, which the election algorithm names.
	Suspected
	// LinkUp: the link to Process has opened. LinkDown: the kernel closed the one to or from it.
	LinkUp
	LinkDown
	// Restored: this process is a candidate again. Withdrawn: it no longer is, because its app is
	// unhealthy or it leaves.
	Restored
	Withdrawn
	// Told: no permission that was handed to the app runs longer than Until.
	Told
	// Persisted: every State up to that of Version is on the disk. WriteFailed: those that were not
	// on it before never will be.
	Persisted
	WriteFailed
	// Doubted: the app of this process reports that Process does not answer it.
	Doubted
	// AppAsked: the app of this process learned what it may do, Length after it had learned it before,
	// under the same lease (LH10): it asks now and then, or it stood still.
	AppAsked
)

// Event is one thing that happened. Fields that its type does not name are zero.
type Event struct {
	Type     EventType
	Now      Reading
	T        time.Duration // the timeout that the failure detector has measured
	Process  string
	From     Incarnation
	Request  Request
	ReplyTo  any // Requested: given back with the response
	Response Response
	Roster   *Roster
	Until    Instant
	Length   time.Duration
	Version  uint64
}

// Addressed is a request and the process that it goes to.
type Addressed struct {
	To      string
	Request Request
}

// Reply is a response and the process that it goes to.
type Reply struct {
	To       string
	ReplyTo  any // of the request
	Response Response
}

// Output is what a Step asks its caller to do, in this order.
type Output struct {
	Revoke   bool        // end the app's permission before anything else, then report Told
	Version  uint64      // State has changed to this version: begin to write it; 0: it has not
	Replies  []Reply     // to be sent
	Requests []Addressed // to be sent
	// the epoch that was given back, also where nobody else is to be told; nil: none
	Release *Request
	Heard   string // the leaseholder was heard: a heartbeat for the failure detector
	// HeardEvery is how soon it is to be heard again (LH10).
	HeardEvery time.Duration
	Suspect    string // the election algorithm is to suspect this process
	// Silent has let renewals pass over an open link, and a majority does not hear it (C8).
	Silent  string
	Appoint string // the election algorithm is to name this process
	// Predecessor has stepped down in favour of Appoint; empty: nobody has.
	Predecessor string
	// Delay has ended the lease of this process, or made it longer (LH10); nil: none has.
	Delay *Delay
}
