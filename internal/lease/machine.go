package lease

import (
	"maps"
	"math/rand/v2"
	"time"
)

// Config says which process a Machine is.
type Config struct {
	Self     Incarnation
	Remember State  // what the memory holds; the zero State if it holds nothing
	Seed     uint64 // of the random delays
	Now      Reading
}

// Machine is one process's part in lease. Not safe for concurrent use.
type Machine struct {
	self      Incarnation
	heartbeat time.Duration
	rng       *rand.Rand

	now       Reading
	t         time.Duration // T
	roster    *Roster       // nil: none
	candidate bool          // the app is well, and the process stays
	nominated string        // whom the election machine names; empty while it elects

	voter    voter
	unsynced bool // the newest State could not be written
	nominee  nominee
	holder   holder
	follower follower
	round    uint64
	out      Output
}

// EventType says what happened.
type EventType uint8

// The events a Machine understands.
const (
	// Tick: it is time to look (Next).
	Tick EventType = iota + 1
	// Enrolled: the roster is now Roster, which is synced; nil: this process is on none.
	Enrolled
	// Requested: From requests.
	Requested
	// Responded: From answered a request.
	Responded
	// Nominated: the election machine names Process; empty while it elects.
	Nominated
	// Suspected: the failure detector suspects Process, whom the election machine names.
	Suspected
	// Unlinked: the link to or from Process was closed by its kernel.
	Unlinked
	// Stands: this process is a candidate; Withdrawn: it is none (its app is ill, or it leaves).
	Stands
	Withdrawn
	// Told: no permission that was handed to the app runs longer than Until.
	Told
)

// Event is one thing that happened; the fields that its type does not name are zero.
type Event struct {
	Type     EventType
	Now      Reading
	T        time.Duration // as the failure detector has it
	Process  string
	From     Incarnation
	Request  Request
	Response Response
	Roster   *Roster
	Until    Instant
}

// Addressed is a request and whom it goes to.
type Addressed struct {
	To      string
	Request Request
}

// Output is what a Step asks its driver to do, in this order: sync the state, answer, send, tell the election machine.
type Output struct {
	Sync     bool        // State has changed: sync it before the rest; if that fails, drop the rest (V11)
	Response *Response   // the answer to the request
	Requests []Addressed // to be sent
	Heard    string      // the holder was heard: a heartbeat for the failure detector
	Doubt    string      // the election machine is to suspect this process
	Appoint  string      // the election machine is to name this process
	Stopped  bool        // this process acts no more: say until when the app was Told
}

// New returns a Machine without a roster. It is a candidate.
func New(c Config) *Machine {
	m := &Machine{self: c.Self, now: c.Now, candidate: true,
		rng: rand.New(rand.NewPCG(c.Seed, 0x7e9e))}
	m.voter.State = c.Remember
	m.voter.wake(c.Now.Boot)
	return m
}

// State is what must be on the disk before the Output of the last Step is carried out, if it says Sync.
func (m *Machine) State() State { return m.voter.State }

// Unsynced says that it could not be written: the rest of the Output is to be dropped. Nothing was promised, nothing is held,
// and the voter is silent for a lease. The next Output asks to sync again (V11).
func (m *Machine) Unsynced() {
	m.unsynced = true
	m.voter.To, m.voter.until = Incarnation{}, max(m.voter.until, m.now.Boot+m.voter.Lease)
	m.dropLease()
}

// Step takes one event and returns what is to be done.
func (m *Machine) Step(e Event) *Output {
	m.now, m.t = e.Now, max(e.T, time.Millisecond)
	m.out = Output{Requests: m.out.Requests[:0], Sync: m.unsynced}
	m.unsynced = false
	m.lapse()
	switch e.Type {
	case Tick:
	case Enrolled:
		m.enrol(e.Roster)
	case Requested:
		m.requested(e.From, e.Request)
	case Responded:
		m.decided(e.From, e.Response)
	case Nominated:
		m.nominated = e.Process
	case Suspected:
		m.suspected(e.Process)
	case Unlinked:
		m.unlinked(e.Process)
	case Stands, Withdrawn:
		m.candidate = e.Type == Stands
	case Told:
		m.told(e.Until)
	}
	if m.roster != nil {
		m.hold()
		m.nominate()
		m.follow()
	}
	return &m.out
}

// enrol takes over a new roster.
func (m *Machine) enrol(r *Roster) {
	if r == nil {
		m.dropLease()
		m.nominee, m.follower, m.nominated = nominee{}, follower{}, ""
		m.roster = nil
		return
	}
	if r.Group == m.voter.Group && (r.Generation < m.voter.Generation || m.roster != nil && r.Generation <= m.roster.Generation) {
		return // V4: it never goes back, and rosters of one generation are equal
	}
	if m.roster == nil || m.roster.Group != r.Group {
		m.dropLease()
		m.nominee, m.follower = nominee{}, follower{}
	}
	m.roster = r
	m.heartbeat = max(r.Heartbeat, time.Millisecond)
	m.out.Sync = m.voter.adopt(r, m.self, m.now.Boot) || m.out.Sync
	m.nominee.sounding.purpose, m.nominee.spent = idle, false
	maps.DeleteFunc(m.holder.steady, func(name string, _ *steady) bool { _, ok := r.find(name); return !ok })
	m.arm()
}

// requested answers and follows up a request of another process of the roster.
func (m *Machine) requested(from Incarnation, p Request) {
	if m.roster == nil || from.Name == m.self.Name || p.Group != m.roster.Group {
		return
	}
	switch p.Kind { // who has left the roster has something to give back
	case StepDown:
		m.resigned(from, p)
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
	case PreVote:
		m.answer(p, m.voter.would(m.roster, from, p.Epoch.Generation(), m.now.Boot)) // V9
	case Vote:
		granted, changed := m.voter.promise(m.roster, from, p, m.now.Boot)
		m.out.Sync = m.out.Sync || changed
		if p.Held {
			m.hear(from, p.Epoch, granted)
		}
		m.answer(p, granted)
	case Transfer:
		m.offered(from, p)
	case TakeOver:
		m.yielded(from, p)
	default:
	}
}

// answer says what this voter has decided, and all that a requester may want to know.
func (m *Machine) answer(p Request, granted bool) {
	v := m.response(p, granted)
	m.out.Response = &v
}

func (m *Machine) response(p Request, granted bool) Response {
	v := Response{Kind: p.Kind, Epoch: p.Epoch, Round: p.Round, Granted: granted, Candidate: m.stands(),
		Generation: m.voter.Generation, Highest: m.voter.Highest}
	to, remaining := m.voter.running(m.now.Boot)
	v.Holder, v.HolderEpoch, v.Remaining = to.Name, m.voter.Highest, remaining
	if holder, epoch, ok := m.hears(); ok {
		v.Holder, v.HolderEpoch, v.Heard = holder, epoch, true
	}
	return v
}

// decided takes the answer of another process.
func (m *Machine) decided(from Incarnation, v Response) {
	if m.roster == nil {
		return
	}
	switch v.Kind { // each looks for itself whether that process counts: H5 has two rosters
	case PreVote:
		m.sounded(from, v)
	case Vote:
		m.claimed(from, v)
		m.answered(from, v)
	case Transfer:
		m.considered(from, v)
	default:
	}
}

// stands reports whether this process would coordinate.
func (m *Machine) stands() bool {
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
