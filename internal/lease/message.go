package lease

import "time"

// Kind is the kind of a request.
type Kind string

// The kinds of requests. PREVOTE, VOTE, RENEW and TRANSFER are answered by a Response, the others are
// not.
const (
	// PreVote: would you vote for me? Nothing changes at the voter.
	PreVote Kind = "PREVOTE"
	// Vote: promise me Epoch for Lease.
	Vote Kind = "VOTE"
	// Renew: the same of the leaseholder of Epoch, to which a majority has promised it: follow me.
	Renew Kind = "RENEW"
	// StepDown: the leaseholder of Epoch acts no more, and will release it. Heir, if there is one, is
	// to be the next.
	StepDown Kind = "STEP DOWN"
	// Release: the leaseholder of Epoch needs no promise any more.
	Release Kind = "RELEASE"
	// Transfer: the leaseholder of Epoch asks a process that outranks it to take over.
	Transfer Kind = "TRANSFER"
	// TakeOver: that process has the support of a majority: step down.
	TakeOver Kind = "TAKE OVER"
)

// Request is what a process asks of another, or tells it. The link says who sent it, never the
// message.
type Request struct {
	Kind  Kind
	Group string // UID of the group object: epochs of two objects may be equal
	Epoch Epoch
	Round uint64        // of the requester; the response has the same
	Lease time.Duration // VOTE, RENEW: how long the promise binds the voter, on its clock, from receipt
	Heir  string        // STEP DOWN, RELEASE
}

// Response answers a request. A denial says who holds the lease, so that the requester can follow
// that process.
type Response struct {
	Kind        Kind          // of the request
	Epoch       Epoch         // of the request
	Round       uint64        // of the request
	Granted     bool          // VOTE, RENEW: it has promised. PREVOTE: it would. TRANSFER: it considers it
	Candidate   bool          // the answering process may coordinate
	Generation  int64         // of the roster that it uses
	Highest     Epoch         // that it has promised
	Holder      string        // whom its running promise binds it to; empty: nobody
	HolderEpoch Epoch         // of that promise
	Remaining   time.Duration // of that promise
	Heard       bool          // it hears that holder
}
