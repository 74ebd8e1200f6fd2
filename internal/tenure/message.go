package tenure

import "time"

// Kind is the kind of a petition.
type Kind string

// The kinds of petitions. SOUND, CLAIM and OFFER are answered by a Verdict; the others by nothing.
const (
	Sound   Kind = "SOUND"   // would you promise me an epoch? Nothing changes at the voter (the pre-vote)
	Claim   Kind = "CLAIM"   // promise me Epoch for Lease; said again, it renews. Held: a majority has promised
	Resign  Kind = "RESIGN"  // the holder of Epoch acts no more, and will release it; Heir, if any, is to be the next
	Release Kind = "RELEASE" // the holder of Epoch needs no promise any more
	Offer   Kind = "OFFER"   // the holder of Epoch asks a process above it to take over
	Yield   Kind = "YIELD"   // that process has a majority's support: resign
)

// Petition is what a process asks or tells of its tenure. The petitioner is who the link says, never the message.
type Petition struct {
	Kind  Kind
	Group string // UID of the group object: epochs of two objects may be equal
	Epoch Epoch
	Round uint64        // of the petitioner; the verdict has the same
	Lease time.Duration // CLAIM: how long the promise binds the voter, on its clock, from receipt
	Held  bool          // CLAIM: a majority has promised this epoch
	Heir  string        // RESIGN, RELEASE
}

// Verdict is a voter's answer. A denial says who holds, so that the petitioner can follow that one.
type Verdict struct {
	Kind        Kind          // of the petition
	Epoch       Epoch         // of the petition
	Round       uint64        // of the petition
	Granted     bool          // CLAIM: it has promised. SOUND: it would. OFFER: the process considers it
	Candidate   bool          // the answering process may coordinate
	Generation  int64         // of the roster that it uses
	Highest     Epoch         // that it has promised
	Holder      string        // whom its running promise binds it to; empty: nobody
	HolderEpoch Epoch         // of that promise
	Remaining   time.Duration // of that promise
	Heard       bool          // it hears that holder
}
