package lease

import "time"

// Kind is the kind of a request.
type Kind string

// The kinds of requests. PREVOTE, VOTE and TRANSFER are answered by a Response; the others by nothing.
const (
	PreVote  Kind = "PREVOTE"   // would you promise me an epoch? Nothing changes at the voter (the pre-vote)
	Vote     Kind = "VOTE"      // promise me Epoch for Lease; said again, it renews. Held: a majority has promised
	StepDown Kind = "STEP DOWN" // the holder of Epoch acts no more, and will release it; Heir, if any, is to be the next
	Release  Kind = "RELEASE"   // the holder of Epoch needs no promise any more
	Transfer Kind = "TRANSFER"  // the holder of Epoch asks a process above it to take over
	TakeOver Kind = "TAKE OVER" // that process has a majority's support: resign
)

// Request is what a process asks or tells of its lease. The requester is who the link says, never the message.
type Request struct {
	Kind  Kind
	Group string // UID of the group object: epochs of two objects may be equal
	Epoch Epoch
	Round uint64        // of the requester; the response has the same
	Lease time.Duration // VOTE: how long the promise binds the voter, on its clock, from receipt
	Held  bool          // VOTE: a majority has promised this epoch
	Heir  string        // STEP DOWN, RELEASE
}

// Response is a voter's answer. A denial says who holds, so that the requester can follow that one.
type Response struct {
	Kind        Kind          // of the request
	Epoch       Epoch         // of the request
	Round       uint64        // of the request
	Granted     bool          // VOTE: it has promised. PREVOTE: it would. TRANSFER: the process considers it
	Candidate   bool          // the answering process may coordinate
	Generation  int64         // of the roster that it uses
	Highest     Epoch         // that it has promised
	Holder      string        // whom its running promise binds it to; empty: nobody
	HolderEpoch Epoch         // of that promise
	Remaining   time.Duration // of that promise
	Heard       bool          // it hears that holder
}
