package election

// EventType is the type of an Event.
type EventType uint8

// The events that a Machine handles.
const (
	// Start: this process starts, or recovers from a failure.
	Start EventType = iota + 1
	// Receive: Message arrived from Process, in that process's incarnation Incarnation.
	Receive
	// Timeout: the timer named Timer expired.
	Timeout
	// PeerUp: the link to Process is open.
	PeerUp
	// PeerDown: the link to Process was closed or refused, Process did not answer within T, or it
	// holds the lease and a majority does not hear it. Nothing more arrives from it.
	PeerDown
	// PeerUnlinked: this process closed its link to Process itself, which says nothing about
	// Process.
	PeerUnlinked
	// Answered: Process was asked, and follows Message.Process. (If the coordinator
	// itself denies that it coordinates, the failure detector reports that as Suspect.)
	Answered
	// Suspect: the failure detector suspects that Process, the coordinator, has failed.
	Suspect
	// Appoint: in a Guarded group, Process has the lease or is about to get it. It is the
	// coordinator, whatever the election decides, unless its priority is 0. Predecessor, if set, has
	// stepped down in its favour.
	Appoint
	// Change: Roster is the new roster, in ring order, and the group runs Algorithm.
	Change
	// Withdraw: this process is no longer a candidate, because its app is unhealthy or because it
	// leaves. It still forwards messages.
	Withdraw
	// Restore: this process is a candidate again.
	Restore
	// Led: in a Guarded group, this process has come to know who holds the lease. What others have
	// said against its coordinator, and of having withdrawn, counts no more.
	Led
)

// Event is one thing that happened. Fields that its Type does not mention are zero. It is a struct
// and not an interface so that a Step does not allocate.
type Event struct {
	Type        EventType
	Process     string
	Incarnation uint64
	Message     Message
	Timer       Timer
	Roster      []Process
	Algorithm   string // empty: unchanged
	Predecessor string
}

// Timer names a one-shot timer. At most one timer of a name runs at a time.
type Timer string

// The timers, named for what they wait for.
const (
	// AwaitAnswer waits T for an answer: OK, or a process status table.
	AwaitAnswer Timer = "answer"
	// AwaitAnnouncement waits T' for the announcement of the new coordinator.
	AwaitAnnouncement Timer = "announcement"
	// AwaitStragglers waits T for what others sent before they had the outcome of an election.
	// Nobody waits in vain if nothing comes.
	AwaitStragglers Timer = "stragglers"
)

// TimerOp sets or stops a timer. Setting a timer that runs restarts it.
type TimerOp struct {
	Timer Timer
	Wait  int // in units of T = 2·Ttrans + Tprocess (seeds 001, 003); 0 stops the timer
}

// Envelope is a message with its recipient.
type Envelope struct {
	To      string
	Message Message
}

// Output lists what the driver must do after a Step. Its slices are valid until the next Step.
type Output struct {
	Messages []Envelope
	Timers   []TimerOp
}

// Reason is the reason why a process takes part in an election.
type Reason string

// The reasons.
const (
	Started                Reason = "Started"
	CoordinatorUnreachable Reason = "CoordinatorUnreachable"
	RosterChanged          Reason = "RosterChanged"
	TwoCoordinators        Reason = "TwoCoordinators"
	AnnouncementMissing    Reason = "AnnouncementMissing"
	Withdrawn              Reason = "Withdrawn" // this process or a higher one withdrew
	// by a message from another process, or by its lease
	Asked Reason = "Asked"
)

// Account describes, as far as this process knows, the election in which it got its coordinator.
type Account struct {
	Decision  ID     // identifies the announcement; equal at every process that followed it
	Initiator string // the process that called the election, as far as this process knows
	Reason    Reason // why this process took part
	Sent      int    // messages of the algorithm that this process sent, without VIEWs
	Views     int    // VIEWs that this process sent
}
