package election

// EventType says what happened.
type EventType uint8

// The events a Machine understands.
const (
	// Start: this process starts, or recovers from a failure.
	Start EventType = iota + 1
	// Receive: Message came from Process, in that process's life Incarnation.
	Receive
	// Timeout: the timer named Timer ran out.
	Timeout
	// PeerUp: the link to Process is open.
	PeerUp
	// PeerDown: the link to Process was closed or refused, or Process did not answer within T: nothing more comes from it.
	PeerDown
	// PeerUnlinked: this process ended its link to Process itself; that says nothing about Process.
	PeerUnlinked
	// Answered: Process, asked, says that it follows Message.Process. (The coordinator's own denial is a matter of the
	// failure detector.)
	Answered
	// Suspect: the failure detector holds Process, the coordinator, for gone.
	Suspect
	// Appoint: in a Guarded group Process has the lease, or is to have it: it coordinates, whoever was elected.
	Appoint
	// Change: the roster is now Roster, in ring order, and the group runs Algorithm.
	Change
	// Withdraw: this process is no candidate (its app is ill, or it leaves); it goes on forwarding.
	Withdraw
	// Restore: this process is a candidate again.
	Restore
)

// Event is one thing that happened; the fields that its type does not name are zero. It is a struct and not an
// interface so that a Step allocates nothing.
type Event struct {
	Type        EventType
	Process     string
	Incarnation uint64
	Message     Message
	Timer       Timer
	Roster      []Process
	Algorithm   string // empty: as before
}

// Timer names a one-shot timer; each name runs at most once at a time.
type Timer string

// The timers, after what they wait for.
const (
	// AwaitAnswer waits T for an answer: OK, or a process status table.
	AwaitAnswer Timer = "answer"
	// AwaitAnnouncement waits T' for the announcement of the new coordinator.
	AwaitAnnouncement Timer = "announcement"
)

// TimerOp sets or stops a timer. Setting one that runs starts it anew.
type TimerOp struct {
	Timer Timer
	Wait  int // in units of T = 2·Ttrans + Tprocess (seeds 001, 003); 0 stops the timer
}

// Envelope is a message and whom it goes to.
type Envelope struct {
	To      string
	Message Message
}

// Output is what a Step asks its driver to do. Its slices are valid until the next Step.
type Output struct {
	Messages []Envelope
	Timers   []TimerOp
}

// Reason says why a process takes part in an election.
type Reason string

// The reasons.
const (
	Started                Reason = "Started"
	CoordinatorUnreachable Reason = "CoordinatorUnreachable"
	RosterChanged          Reason = "RosterChanged"
	TwoCoordinators        Reason = "TwoCoordinators"
	AnnouncementMissing    Reason = "AnnouncementMissing"
	Withdrawn              Reason = "Withdrawn" // this process, or one above it, withdrew
	Asked                  Reason = "Asked"     // by a message of another process, or by its lease
)

// Account is what a process can tell of the election that gave it its coordinator.
type Account struct {
	Decision  ID     // of the announcement: equal at every process that followed it
	Initiator string // who called the election, as far as this process knows
	Reason    Reason // why this process took part
	Sent      int    // messages of the algorithm that this process sent; VIEWs are counted apart
	Views     int    // VIEWs that it sent
}

// State is a snapshot of a Machine.
type State struct {
	Coordinator string // empty while there is none
	Electing    bool
	Withdrawn   bool
	Last        Account
}
