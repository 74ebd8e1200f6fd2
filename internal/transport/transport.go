// Package transport carries the messages of elections between the agents of a group.
//
// Links is what an agent speaks through. New gives the real thing: gRPC over mutual TLS 1.3, one ordered stream a
// direction, so that the links are the FIFO channels which the ring algorithms assume. Network gives its in-memory twin for
// tests. Both are the same machine (hub, link, session) over two kinds of wire.
//
// What holds: the events of one process are ordered. An Up is followed by a Down before the next Up. Between an Up and its
// Down what was sent arrives in the order of Send, or else the Down comes. Received, Asked and LeaseRequested of one process
// arrive in the order in which it sent them, so do Answered and LeaseResponded, and nothing of an older incarnation follows something
// of a newer one.
//
// No link outlives the certificates of its two ends: each end closes what the other's certificate does not cover any more.
// Before that a stream is made anew, as soon as newer certificates make one that lasts longer, and takes over in silence: there
// is no Down, and nothing is lost, repeated or overtaken. (A receiver of a release before this one sees a stream replaced:
// there, a Down and an Up are said.)
//
// What is not promised: that a message arrives (a broken link drops what it had queued, and reconnects empty), nor any
// order between the events of two processes, nor between what a process says to us and the state of our link to it.
package transport

import (
	"context"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// Member is a process of the roster, and where it is reached.
type Member struct {
	Name    string
	UID     string
	Address string // host:port of its link server; empty while it has none
}

// Links is what an agent speaks through. All methods are safe for concurrent use, and none but Leave and Close blocks.
type Links interface {
	// Admit replaces who may send to us, and where they are. The streams of others are closed; what they said before may
	// still be in Events. A changed UID closes what the old process had open; a changed UID or address makes our own link
	// anew.
	Admit(members []Member)

	// Link replaces the processes that we keep a link to. A link that is open and not wanted any more still sends what is
	// queued. Our own name, and a name that is not admitted, are passed over.
	Link(names []string)

	// Send queues m for the process. The newest message is dropped, and counted, when the queue is full, when the link is
	// down (from Down until the next Up), or when there is none.
	Send(to string, algorithm string, m election.Message)

	// Ask queues the failure detector's question, on the same link. It is answered by an Answered of the same sequence.
	Ask(to string, sequence uint64)

	// Request queues a request for lease, as Send does, on the same link. It may be answered by a LeaseResponded of its round.
	Request(to string, p lease.Request)

	// Leave says on every open link that this process is about to end, after all that is queued there, and waits until the
	// others have heard it or ctx ends. A process that we keep no link to sees its own close when we do. New links are
	// neither made nor accepted afterwards, and our own say no more Up or Down; what the others send is still heard until
	// Close.
	Leave(ctx context.Context)

	// Pace sets the longest pause between two attempts to make a link: the heartbeat of the roster in use. It counts from the
	// next pause on; how long the kernels wait for each other follows it with the next stream.
	Pace(heartbeat time.Duration)

	// Events is where everything arrives. One goroutine must keep receiving: while it does not, senders are held back by
	// flow control. The channel is closed by Close.
	Events() <-chan Event

	// Dropped counts what was given to Send, Ask or Request and not handed to the wire.
	Dropped() uint64

	// Close stops everything at once, waits for its goroutines, and closes Events. It may be called more than once.
	Close()
}

// Event is what happens on the links: Up, Down, Received, Asked, Answered, LeaseRequested or LeaseResponded.
type Event interface{ event() }

// Up says that our link to Name is open: what we send arrives unless the link breaks.
type Up struct{ Name string }

// Down says that our link to Name was open or being made, and is not. It is said once for a loss, and once for the first
// attempt that failed; attempts go on until an Up.
type Down struct {
	Name     string
	Evidence Evidence
}

// Evidence is how a link was lost, which is how much a Down says about the process.
type Evidence string

// The kinds of evidence.
const (
	Closed      Evidence = "Closed"      // the peer, or the kernel for it, closed the open link
	Refused     Evidence = "Refused"     // the peer's kernel refused the connection: nobody listens there
	Unreachable Evidence = "Unreachable" // silence: a timeout, no route, no address
	Rejected    Evidence = "Rejected"    // one of the two does not accept who the other is
	Left        Evidence = "Left"        // the process said that it leaves
	Dropped     Evidence = "Dropped"     // we ended an open link, by Link or Admit: this says nothing about the process
)

// Received is a message of an election. From is who the certificate says.
type Received struct {
	From        string
	Incarnation uint64
	Algorithm   string
	Message     election.Message
}

// Asked is the question of a failure detector: is this process there, and whom does it follow?
type Asked struct {
	From        string
	Incarnation uint64
	Answer      func(coordinator string) // never blocks; harmless when the link is gone
}

// Answered is the answer to our Ask of that sequence.
type Answered struct {
	From        string
	Sequence    uint64
	Coordinator string // whom the process follows; empty while it elects
}

// LeaseRequested is a request for lease. Incarnation and Memory are what the process says of itself: it is that which they name
// for as long as its certificate is believed.
type LeaseRequested struct {
	From        string
	Incarnation uint64
	StateID     string // the identity of its state directory; empty: it has none
	Request     lease.Request
	Answer      func(lease.Response) // never blocks; may be called late or never, and is harmless when the link is gone
}

// LeaseResponded is the response on one of our requests.
type LeaseResponded struct {
	From        string
	Incarnation uint64
	StateID     string // the identity of its state directory; empty: it has none
	Response    lease.Response
}

func (Up) event()             {}
func (Down) event()           {}
func (Received) event()       {}
func (Asked) event()          {}
func (Answered) event()       {}
func (LeaseRequested) event() {}
func (LeaseResponded) event() {}
