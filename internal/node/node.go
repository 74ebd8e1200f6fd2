package node

import (
	"time"

	"github.com/podesta-dev/podesta/internal/detector"
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// Config says which process a Node is.
type Config struct {
	Self    lease.Incarnation
	Saved   lease.State // what the state directory holds; the zero State if it holds nothing
	Seed    uint64      // of the random delays
	Now     lease.Reading
	Rules   int32 // the newest rules level that the process supports (MC11); 0 counts as 1
	Managed bool  // a manager changes the roster: a voter that leaves waits until it is no voter
	// Throttled is by how much the process's CPU quota may delay lease.Burst; 0: it has none.
	Throttled time.Duration
}

// Node is one process of a group. Not safe for concurrent use.
type Node struct {
	config     Config
	self       lease.Incarnation
	now        lease.Reading
	ready      Ready
	stirred    bool // this event may have changed the view
	tableStale bool // the election algorithm may have changed the process status table

	roster   *Roster            // in use; nil: this process is on none
	election *election.Machine  // nil: no roster
	lease    *lease.Machine     // nil before the first Guarded roster; it outlives rosters and groups
	detector *detector.Detector // nil: no roster

	inbox     inbox
	waiting   waiting // for this process to stop following the leaseholder
	early     waiting // for a roster that has a name which this one does not have
	nominated string  // by the election algorithm, as the lease protocol knows it
	withdrawn bool    // by its app, or because it leaves
	unhealthy bool    // the app is
	deserted  bool    // the app has no session, though it had one, or the group wants one
	rests     bool    // the lease protocol has withdrawn the process for a while (C5)
	holds     lease.Epoch
	asks      time.Duration // how long a lease, while it holds one

	alarms  alarms
	peers   peers
	leaving leaving
	writes  writes
	passing passing
	refused int64 // the newest generation, of the group in use, that this process does not support
	episode episode
	said    uint64 // the sequence of the newest message of elections that this process sent
	called  uint64 // how many elections it called in the groups that it has left
	view    View
	table   []election.Entry // scratch
	links   []string
}

// New returns a Node that takes part with the first roster that it receives.
func New(c Config) *Node {
	return &Node{
		config: c,
		self:   c.Self,
		now:    c.Now,
		writes: writes{state: c.Saved},
	}
}

// Step takes one event, and returns what is to be done.
func (n *Node) Step(e Event) *Ready {
	n.begin(e.Now)
	if n.overdue() {
		return n.finish()
	}
	switch e.Type {
	case Tick:
		n.tick()
	case RosterReceived:
		n.rosterReceived(e.Roster)
	case LinkUp, LinkDown, LinkDropped:
		n.linkChanged(&e)
	case Received:
		n.received(&e)
	case Told:
		n.authorise(lease.Event{Type: lease.Told, Until: e.Until})
		n.hinder(n.unhealthy, e.Deserted)
	case Healthy, Unhealthy:
		n.hinder(e.Type == Unhealthy, n.deserted)
	case AppSuspects:
		n.appSuspects(e.From)
	case AppAsked:
		n.authorise(lease.Event{Type: lease.AppAsked, Length: e.Length})
	case Leave:
		n.leave()
	case Expired:
		n.exit()
	}
	return n.finish()
}

// Advance reports what became of the write of a number, and so of all before it: nil if it is on
// the disk. It returns what waited for that. The outcome of a write that an earlier failure took
// with it changes nothing.
func (n *Node) Advance(now lease.Reading, number uint64, err error) *Ready {
	n.begin(now)
	if !n.overdue() {
		n.advance(number, err)
	}
	return n.finish()
}

// Lease is the lease protocol's part of this process; nil if it was never in a Guarded group. It is
// for those who check the Node, or measure it: it must not be stepped.
func (n *Node) Lease() *lease.Machine { return n.lease }

// Election is the election algorithm's part; nil if the process is on no roster. It is for those
// who check the Node: it must not be stepped.
func (n *Node) Election() *election.Machine { return n.election }

// guarded reports whether the lease protocol decides who coordinates.
func (n *Node) guarded() bool { return n.roster != nil && n.roster.Guarded }

// begin makes an empty Ready.
func (n *Node) begin(now lease.Reading) {
	n.forgiveSilence(now.Boot - n.ready.Next)
	n.now, n.stirred = now, false
	n.ready = Ready{Messages: n.ready.Messages[:0], Notes: n.ready.Notes[:0]}
}

// finish says what has come of an event.
func (n *Node) finish() *Ready {
	n.proceedLeaving()
	n.permit()
	if n.stirred && n.show() {
		n.ready.Changed = true
	}
	n.relink()
	n.ready.Write = n.write()
	n.ready.Next = n.next()
	return &n.ready
}

func (n *Node) note(note Note) { n.ready.Notes = append(n.ready.Notes, note) }

// permit says what the app may be granted.
func (n *Node) permit() {
	if !n.guarded() {
		return
	}
	epoch, deadline, ok := n.lease.Permission()
	if !ok {
		return
	}
	n.ready.Permission = lease.Permission{
		Epoch:    epoch,
		Deadline: deadline,
		Renewed:  n.lease.Renewed(),
	}
	asks := n.lease.Asks()
	switch {
	case epoch != n.holds:
		n.note(Note{
			Type:  Holds,
			Epoch: epoch,
			Until: deadline,
			Lease: asks,
		})
	case asks != n.asks:
		n.note(Note{Type: Asks, Epoch: epoch, Lease: asks})
	}
	n.holds, n.asks = epoch, asks
}

// next is when a Tick is due.
func (n *Node) next() lease.Instant {
	next := n.now.Boot + longestPause
	at := func(t lease.Instant) {
		if t > 0 {
			next = min(next, max(t, n.now.Boot))
		}
	}
	at(n.writes.next())
	at(n.leaving.next(n.now.Boot))
	if n.roster == nil {
		return next
	}
	at(n.detector.Next(n.now.Boot))
	for _, alarm := range n.alarms {
		at(alarm)
	}
	if n.guarded() {
		next = min(next, max(n.lease.Next(), n.now.Boot))
	}
	return next
}

// tick lets timers run out, asks, and suspects.
func (n *Node) tick() {
	if n.roster == nil {
		return
	}
	n.expireTimers()
	n.detect()
	n.authorise(lease.Event{Type: lease.Tick})
}
