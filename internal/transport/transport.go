// Package transport carries the messages of elections and leases between the agents of a group.
//
// [Links] is the interface that an agent uses. [New] returns the real implementation: mutual TLS
// 1.3 with one connection for each direction, so that links are the FIFO channels that the ring
// algorithms assume (linkpb has the wire format). [Network] provides an in-memory implementation
// for tests. Both are the same machine (hub, link, served) over two kinds of connection.
//
// # What is guaranteed
//
// The events of one process are ordered:
//
//   - An [Up] is followed by a [Down] before the next Up.
//   - What is sent after an Up arrives in the order of Send. If any of it is lost, a Down follows.
//   - What a process asks of this one ([Received], [Asked], [LeaseRequested], [RosterRequested])
//     arrives in the order in which it was sent, and so do its answers ([Answered],
//     [LeaseResponded], [RosterReceived]). Between the two there is no order.
//   - When something of an incarnation of a process has arrived, nothing of an older one arrives
//     any more, for as long as the process is admitted with the same UID. The older one is told, if
//     it still runs or has started again ([Outnumbered]).
//   - Two processes whose roster files have the same generation and differ have no link if one of
//     the two files is of a Guarded group.
//
// No link outlives the certificates of its two ends: each end closes what the other's certificate
// no longer covers. Before that happens, a new stream is made as soon as newer certificates allow
// one that lasts longer, and replaces the old one silently: there is no Down, and nothing is lost,
// repeated or reordered.
//
// # What is not guaranteed
//
//   - That a message arrives: a broken link drops what was queued, and reconnects with an empty
//     queue.
//   - Any order between the events of two processes, or between the messages of a process and the
//     state of the link to it.
package transport

import (
	"context"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// Member is a process of the roster with its address.
type Member struct {
	Name    string
	UID     string
	Address string // HOST:PORT of its link server; empty while it has none
}

// Links sends to the other processes and receives from them. All methods are safe for concurrent
// use, and none but Leave and Close blocks.
type Links interface {
	// Admit replaces the set of processes that may send to this one, and their addresses. The
	// streams of others are closed; what they sent before may still be in Events. A changed UID
	// closes the streams of the old process. A changed UID or address makes the link to the process
	// again.
	Admit(members []Member)

	// Link replaces the set of processes to which a link is kept. A link that is open and no longer
	// wanted still sends what is queued. This process's own name, and names that are not admitted,
	// are ignored.
	Link(names []string)

	// Send queues m for the process. It drops and counts m if the queue is full, if the link is
	// down (from Down until the next Up), or if there is no link. The receiver is told the
	// sequence, by which accounts of elections pair a message's sending with its receipt.
	Send(to string, algorithm string, sequence uint64, m election.Message)

	// Ask queues a question of the failure detector on the same link, with the generation of the
	// roster in use. The answer is an Answered with the same sequence.
	Ask(to string, sequence uint64, generation int64)

	// Request queues a lease request on the same link, as Send does. It may be answered by a
	// LeaseResponded of its round.
	Request(to string, p lease.Request)

	// RequestRoster asks the process on the same link for the roster that it uses. The answer, if
	// there is one, is a RosterReceived.
	RequestRoster(to string)

	// Leave tells the peer on every open link that this process is about to end, after everything
	// that is queued there. It waits until the peers have received that, or ctx ends. A process
	// that has a link to this one, which has none to it, is not told: its link closes when this
	// process ends. Afterwards links are neither made nor accepted, and this process's links emit
	// neither Up nor Down; what other processes send still arrives until Close.
	Leave(ctx context.Context)

	// Pace sets the longest pause between two attempts to make a link, which is the heartbeat of
	// the current roster. It applies from the next pause on. The timeouts of
	// the kernels change only when a connection is made the next time.
	Pace(heartbeat time.Duration)

	// Events is the channel on which everything arrives. One goroutine must keep receiving: while
	// it does not, senders are held back, and in the end their links break (kernelBuffer,
	// halfOpen). Close closes the channel.
	Events() <-chan Event

	// Dropped returns how many messages given to Send, Ask or Request were not handed to the wire.
	Dropped() uint64

	// Close stops everything at once, waits for its goroutines, and closes Events. It may be called
	// more than once.
	Close()
}

// Event is an event on the links: Up, Down, Received, Asked, Answered, LeaseRequested,
// LeaseResponded, RosterRequested, RosterReceived, Outnumbered or Unlinked.
type Event interface{ event() }

// Up reports that the link to Name is open: what is sent arrives unless the link breaks.
type Up struct{ Name string }

// Down reports that an open link to Name was lost, or that the first attempt to make one has
// failed. Attempts go on until an Up; meanwhile Unlinked says why they fail.
type Down struct {
	Name     string
	Evidence Evidence
}

// Evidence is how a link was lost, which determines how much a Down says about the process.
type Evidence string

// The kinds of evidence.
const (
	Closed Evidence = "Closed" // the peer, or its kernel, closed the open link
	// the peer's kernel refused the connection: no process listens there
	Refused     Evidence = "Refused"
	Unreachable Evidence = "Unreachable" // no sign of the peer: a timeout, no route, no address
	Rejected    Evidence = "Rejected"    // one of the two ends does not accept the other's identity
	Left        Evidence = "Left"        // the process leaves the group
	// this process ended an open link by Link or Admit, which says nothing about the peer
	Dropped Evidence = "Dropped"
)

// Received is a message of an election. From is the name in the sender's certificate.
type Received struct {
	From        string
	Incarnation uint64
	Algorithm   string
	Sequence    uint64 // as given to Send; 0 from one that does not say
	Message     election.Message
}

// Asked is a question of a failure detector: does this process run, and whom does it follow?
type Asked struct {
	From        string
	Incarnation uint64
	Generation  int64 // of the roster that the process uses; 0 from one that does not say
	// never blocks; has no effect when the link is gone
	Answer func(coordinator string, generation int64)
}

// Answered is the answer to an Ask of this process with the same sequence.
type Answered struct {
	From        string
	Sequence    uint64
	Coordinator string // whom the process follows; empty while it elects
	Generation  int64  // of the roster that the process uses; 0 from one that does not say
}

// LeaseRequested is a lease request. Incarnation and StateID are what the process says about
// itself: its certificate vouches for its name and UID only.
type LeaseRequested struct {
	From        string
	Incarnation uint64
	StateID     string // identifies its state directory; empty if it has none
	Request     lease.Request
	// never blocks; may be called late or not at all; has no effect when the link is gone
	Answer func(lease.Response)
}

// LeaseResponded is the response to one of this process's requests.
type LeaseResponded struct {
	From        string
	Incarnation uint64
	StateID     string // identifies its state directory; empty if it has none
	Response    lease.Response
}

// RosterRequested asks for the roster that this process uses.
type RosterRequested struct {
	From string
	// never blocks; has no effect when the link is gone
	Answer func(signed []byte)
}

// RosterReceived is a roster that another process passed on. Nothing about it has been checked but
// its size.
type RosterReceived struct {
	From   string
	Signed []byte // as the manager signed it (roster.Open)
}

// Outnumbered reports that By has heard a later incarnation of this very process, which does not
// run any more. By, and perhaps others, ignore this one until it starts again with a higher number.
// The later incarnation had this process's certificate. The event may come again.
type Outnumbered struct {
	By          string
	Incarnation uint64 // below 2⁶³
}

func (Up) event()              {}
func (Down) event()            {}
func (Received) event()        {}
func (Asked) event()           {}
func (Answered) event()        {}
func (LeaseRequested) event()  {}
func (LeaseResponded) event()  {}
func (RosterRequested) event() {}
func (RosterReceived) event()  {}
func (Outnumbered) event()     {}
