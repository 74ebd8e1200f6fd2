package lease

import (
	"maps"
	"math/rand/v2"
	"time"
)

// Config says which process a Machine is.
type Config struct {
	Self  Incarnation
	Saved State  // what the state directory holds; the zero State if it holds nothing
	Seed  uint64 // of the random delays
	Now   Reading
}

// Machine is one process's part in the lease protocol. Not safe for concurrent use.
type Machine struct {
	self      Incarnation
	heartbeat time.Duration
	rng       *rand.Rand

	now       Reading
	t         time.Duration // T
	roster    *Roster       // nil: none
	candidate bool          // the app is healthy, and the process stays
	nominated string        // whom the election algorithm names; empty while it elects

	voter       voter
	disk        disk
	candidacy   candidacy
	leaseholder leaseholder
	follower    follower
	round       uint64
	out         Output
}

// EventType says what happened.
type EventType uint8

// The events a Machine understands.
const (
	// Tick: the time that Next named has come.
	Tick EventType = iota + 1
	// RosterChanged: the roster is now Roster; nil: this process is on none.
	RosterChanged
	// Requested: From sent Request.
	Requested
	// Responded: From sent Response.
	Responded
	// Nominated: the election algorithm names Process; empty while it elects.
	Nominated
	// Suspected: the failure detector suspects Process, whom the election algorithm names.
	Suspected
	// LinkDown: the link to or from Process was closed by its kernel.
	LinkDown
	// Restored: this process is a candidate; Withdrawn: it is none (its app is unhealthy, or it
	// leaves).
	Restored
	Withdrawn
	// Told: no permission that was handed to the app runs longer than Until.
	Told
	// Persisted: every State up to that of Version is on the disk. WriteFailed: those that were not
	// on it before never will be.
	Persisted
	WriteFailed
)

// Event is one thing that happened; the fields that its type does not name are zero.
type Event struct {
	Type     EventType
	Now      Reading
	T        time.Duration // as the failure detector has measured it
	Process  string
	From     Incarnation
	Request  Request
	ReplyTo  any // Requested: given back with the response
	Response Response
	Roster   *Roster
	Until    Instant
	Version  uint64
}

// Addressed is a request and whom it goes to.
type Addressed struct {
	To      string
	Request Request
}

// Reply is a response and whom it goes to.
type Reply struct {
	To       string
	ReplyTo  any // of the request
	Response Response
}

// Output is what a Step asks its caller to do, in this order.
type Output struct {
	Withdraw bool        // the app's permission ends before anything else: say until when it was Told
	Version  uint64      // State has changed to this version: begin to write it; 0: it has not
	Replies  []Reply     // to be sent
	Requests []Addressed // to be sent
	Heard    string      // the leaseholder was heard: a heartbeat for the failure detector
	Suspect  string      // the election algorithm is to suspect this process
	Appoint  string      // the election algorithm is to name this process
}

// New returns a Machine without a roster. It is a candidate.
func New(c Config) *Machine {
	m := &Machine{self: c.Self, now: c.Now, candidate: true,
		rng: rand.New(rand.NewPCG(c.Seed, 0x7e9e))}
	m.voter.State = c.Saved
	m.voter.wake(c.Now.Boot)
	return m
}

// State is what the voter must not forget, as of the newest Version.
func (m *Machine) State() State { return m.voter.State }

// Step takes one event and returns what is to be done. The Output is valid until the next Step.
func (m *Machine) Step(e Event) *Output {
	m.now, m.t = e.Now, max(e.T, time.Millisecond)
	m.out = Output{Requests: m.out.Requests[:0], Replies: m.out.Replies[:0]}
	m.lapse()
	switch e.Type {
	case Tick:
	case RosterChanged:
		m.changeRoster(e.Roster)
	case Requested:
		m.requested(e)
	case Responded:
		m.responded(e.From, e.Response)
	case Nominated:
		m.nominated = e.Process
	case Suspected:
		m.suspected(e.Process)
	case LinkDown:
		m.linkDown(e.Process)
	case Restored, Withdrawn:
		m.candidate = e.Type == Restored
	case Told:
		m.told(e.Until)
	case Persisted:
		m.persisted(e.Version)
	case WriteFailed:
		m.writeFailed()
	}
	if m.roster != nil {
		m.hold()
		m.nominate()
		m.follow()
	}
	m.out.Version = m.disk.begin()
	return &m.out
}

// changeRoster takes over a new roster.
func (m *Machine) changeRoster(r *Roster) {
	if r == nil {
		m.dropLease()
		m.candidacy, m.follower, m.nominated = candidacy{}, follower{}, ""
		m.roster = nil
		return
	}
	if r.Group == m.voter.Group && (r.Generation < m.voter.Generation ||
		m.roster != nil && r.Generation <= m.roster.Generation) {
		return // V4: it never goes back, and rosters of one generation are equal
	}
	if m.roster == nil || m.roster.Group != r.Group {
		m.dropLease()
		m.candidacy, m.follower = candidacy{}, follower{}
	}
	m.roster = r
	m.heartbeat = max(r.Heartbeat, time.Millisecond)
	if m.voter.adopt(r, m.self, m.now.Boot) {
		m.disk.change()
	}
	m.candidacy.preVote.purpose, m.candidacy.spent = idle, false
	maps.DeleteFunc(m.leaseholder.steady, func(name string, _ *steady) bool {
		_, ok := r.find(name)
		return !ok
	})
	m.arm()
}

// requested answers and follows up a request of another process of the roster.
func (m *Machine) requested(e Event) {
	from, p := e.From, e.Request
	if m.roster == nil || from.Name == m.self.Name || p.Group != m.roster.Group {
		return
	}
	switch p.Kind { // a process that has left the roster may still have something to give back
	case StepDown:
		m.steppedDown(from, p)
		return
	case Release:
		m.voter.release(from, p.Epoch, m.now.Boot)
		m.released(from, p)
		return
	default:
	}
	if q, ok := m.roster.find(from.Name); !ok || q.UID != from.UID {
		return
	}
	switch p.Kind {
	case PreVote: // V9
		would := m.voter.would(m.roster, from, p.Epoch.Generation(), m.now.Boot) && !m.disk.failed()
		m.reply(e, would, 0)
	case Vote, Renew:
		granted := m.vote(from, p)
		if p.Kind == Renew {
			m.hear(from, p.Epoch, granted)
		}
		m.reply(e, granted, m.disk.promise)
	case Transfer:
		m.offered(e)
	case TakeOver:
		m.takenOver(from, p)
	default:
	}
}

// vote has the voter decide about a vote that it is asked for. A grant may be sent, and the own vote
// counted, when the promise is on the disk (V11).
func (m *Machine) vote(from Incarnation, p Request) (granted bool) {
	if m.disk.failed() || m.disk.behind() && !m.voter.renews(from, p, m.now.Boot) {
		return false
	}
	granted, changed := m.voter.promise(m.roster, from, p, m.now.Boot)
	if changed {
		m.disk.change()
		m.disk.promise = m.disk.version
	}
	return granted
}

// reply responds to a request. A grant waits until the State of a version is on the disk.
func (m *Machine) reply(e Event, granted bool, version uint64) {
	r := Reply{To: e.From.Name, ReplyTo: e.ReplyTo, Response: m.response(e.Request, granted)}
	if !granted || m.disk.has(version) {
		m.out.Replies = append(m.out.Replies, r)
		return
	}
	m.disk.hold(version, r)
}

// response says what this voter has decided, and all that a requester may want to know.
func (m *Machine) response(p Request, granted bool) Response {
	v := Response{
		Kind:       p.Kind,
		Epoch:      p.Epoch,
		Round:      p.Round,
		Granted:    granted,
		Candidate:  m.isCandidate(),
		Generation: m.voter.Generation,
		Highest:    m.voter.Highest,
	}
	to, remaining := m.voter.running(m.now.Boot)
	v.Holder, v.HolderEpoch, v.Remaining = to.Name, m.voter.Highest, remaining
	if holder, epoch, ok := m.hears(); ok {
		v.Holder, v.HolderEpoch, v.Heard = holder, epoch, true
	}
	return v
}

// responded takes the response of another process. Each rule decides for itself whether that process
// counts: during LH5 two rosters do.
func (m *Machine) responded(from Incarnation, v Response) {
	if m.roster == nil {
		return
	}
	switch v.Kind {
	case PreVote:
		m.preVoted(from, v)
	case Vote, Renew:
		m.voted(from, v)
		m.answered(from, v)
	case Transfer:
		m.considered(from, v)
	default:
	}
}

// isCandidate reports whether this process would coordinate.
func (m *Machine) isCandidate() bool {
	if m.roster == nil || !m.candidate || m.Rests() {
		return false
	}
	me, ok := m.roster.find(m.self.Name)
	return ok && me.Priority > 0
}

// send addresses a request.
func (m *Machine) send(to string, p Request) {
	p.Group = m.roster.Group
	m.out.Requests = append(m.out.Requests, Addressed{To: to, Request: p})
}

// everyone sends a request to all other processes of a roster.
func (m *Machine) everyone(r *Roster, p Request) {
	for _, q := range r.Members {
		if q.Name != m.self.Name {
			m.send(q.Name, p)
		}
	}
}

// random is a random part of d.
func (m *Machine) random(d time.Duration) time.Duration {
	return time.Duration(m.rng.Int64N(int64(max(d, 1))))
}
