package lease

import "time"

// Kind is the kind of a request.
type Kind string

// The kinds of requests. PREVOTE, VOTE, RENEW and TRANSFER are answered by a Response, the others
// are not.
const (
	// PreVote asks whether the voter would vote for the requester. It changes nothing at the voter.
	PreVote Kind = "PREVOTE"
	// Vote asks the voter to promise Epoch to the requester for Lease.
	Vote Kind = "VOTE"
	// Renew asks the same for the leaseholder of Epoch, which a majority has promised, and asks
	// every process to follow it.
	Renew Kind = "RENEW"
	// StepDown says that the leaseholder of Epoch no longer acts and will release it. Heir, if set,
	// is to be nominated next.
	StepDown Kind = "STEP DOWN"
	// Release says that the leaseholder of Epoch no longer needs any promise.
	Release Kind = "RELEASE"
	// Transfer offers the lease of Epoch to a process that outranks the leaseholder.
	Transfer Kind = "TRANSFER"
	// TakeOver says that this process has the support of a majority: the leaseholder is to step
	// down.
	TakeOver Kind = "TAKE OVER"
)

// Request is what a process asks of another one, or tells it. Who sent it is known from the
// connection, never from the message. A process ignores requests of another Group: the epochs of
// two group objects may be equal.
type Request struct {
	Kind  Kind
	Group string // UID of the group object
	Epoch Epoch
	Round uint64        // number of the requester's round; the response repeats it
	Lease time.Duration // VOTE, RENEW: how long the promise is to bind the voter, from receipt
	// Heartbeat is when the next RENEW is due (LH10); 0: after the heartbeat of the roster.
	Heartbeat time.Duration
	Heir      string // STEP DOWN, RELEASE
}

// Response answers a request. A denial names the present leaseholder, so that the requester can
// follow it.
type Response struct {
	Kind        Kind          // of the request
	Epoch       Epoch         // of the request
	Round       uint64        // of the request
	Granted     bool          // promised; PREVOTE: would promise; TRANSFER: considers it
	Candidate   bool          // the answering process is a candidate
	Generation  int64         // of the roster that it uses
	Highest     Epoch         // the highest epoch that it has promised
	Holder      string        // the process that it hears, or else that its promise binds it to
	HolderEpoch Epoch         // the epoch of that process
	Remaining   time.Duration // how long its promise still runs
	Heard       bool          // it hears Holder (V9)
}
