package electiontest

import (
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// Simulator lets a group run through chaos and into calm, and checks what must hold. One that has run can run again: it keeps
// its memory, and nothing else. Not safe for concurrent use.
type Simulator struct {
	network
	Options
	Stats
	rng     *rand.Rand
	source  *rand.PCG
	agents  []agent
	pairs   []pair     // pairs[p·n+q] is what p has to do with q
	rosters []roster   // by generation
	old     [64]saying // messages to be replayed
	said    int        // of old
	calm    bool
	rogue   int32 // -1: nobody
	truth   truth
	broken  *Failure

	guardedGroup
}

// Stats is what a run came to.
type Stats struct {
	Steps    int  // of machines
	Messages int  // sent
	Virtual  Time // that went by
	Settled  Time // from the beginning of calm until the last message
	Trace    uint64

	Requests   int // requests and responses sent
	Leases     int // epochs that were held
	Leaderless Time
	Led        Time
	Refused    int // writes that the register refused
	Accepted   int
	Overlaps   int // times that an app was told that it may act while another might, with clocks beyond the bound
	Stopped    int // groups that had no majority in the end
	Faults     int
}

// roster is a generation of the roster.
type roster struct {
	processes []election.Process
	algorithm string
	lease     *lease.Roster // nil in a Classic group
}

// saying is a message as it went out once.
type saying struct {
	from, to   int32
	life       uint64
	uid        uint8
	generation uint32
	message    election.Message
}

// Failure says what did not hold.
type Failure struct {
	Options Options
	At      Time
	Broken  string
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%s seed %d at %d: %s\noptions: %s", f.Options.Algorithm, f.Options.Seed, f.At, f.Broken, f.Options)
}

// The tasks of a simulator.
const (
	tickTask   taskKind = other + 10 + iota // the agent of to looks after links and detector
	doubtTask                               // it suspects, if it still has reason to
	noticeTask                              // it sees its link to from closed
	faultTask                               // the next fault
	bootTask                                // process to starts
	enrolTask                               // to gets the roster of generation sequence
	wellTask                                // the app of to is well again
	leaveTask                               // to, which has withdrawn, ends
	cutTask                                 // a cut that flaps, from its next turn on
	sampleTask                              // somebody looks whether the group is led

	requestTask  // a request arrives; it lies in the slot timer
	responseTask // a response arrives
	leaseTask    // the lease machine of to looks
	pollTask     // the app of to asks
	actTask      // the app of to acts, late, under the epoch life
	manageTask   // manager number sequence takes its turn
	wornTask     // the end of the memory sequence of to becomes known
	closedTask   // to sees the link from from closed
)

// planned marks, by its sequence, a task that belongs to calm.
const planned = 1

// NewSimulator makes a simulator.
func NewSimulator() *Simulator {
	s := &Simulator{source: rand.NewPCG(0, 0)}
	s.rng = rand.New(s.source)
	s.carry, s.stepped, s.doomed = s.dispatch, s.after, s.doom
	return s
}

// Run simulates a group under these options. The error, if any, is a *Failure.
func (s *Simulator) Run(o Options) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &Failure{Options: o, At: s.now, Broken: fmt.Sprintf("G13: panic: %v\n%s", r, debug.Stack())}
		}
	}()
	s.begin(o)
	end := s.Chaos
	s.until(end)
	if s.broken == nil {
		s.quieten()
		if s.Guarded {
			s.calmDown()
		} else {
			s.until(end + s.patience())
			s.quiet()
		}
	}
	s.Steps, s.Messages, s.Virtual = s.network.steps, s.sequence, s.now
	s.Requests, s.Refused, s.Accepted = s.requests, s.register.refused, s.register.accepted
	if s.broken != nil {
		return s.broken
	}
	return nil
}

// Explain runs a group again, and writes what happens.
func (s *Simulator) Explain(o Options, out io.Writer) error {
	s.observe = func(e Event) { fmt.Fprintln(out, e) }
	defer func() { s.observe = nil }()
	return s.Run(o)
}

func (s *Simulator) begin(o Options) {
	s.Options, s.Stats, s.calm, s.broken, s.said = o, Stats{}, false, nil, 0
	s.source.Seed(o.Seed, o.salt())
	members := o.members(s.rng, simulated)
	n := len(members)
	s.reset(members)
	s.agents, s.pairs = again(s.agents, n), again(s.pairs, n*n)
	s.rosters = append(s.rosters[:0], roster{processes: members[:o.Processes], algorithm: o.Algorithm})
	s.guarded, s.requests, s.register = nil, 0, register{}
	if o.Guarded {
		s.guarded = s.elect
		s.establish(members)
	}
	s.truth.begin(n)
	s.rogue = -1
	if o.Rogue {
		s.rogue = int32(s.rng.IntN(o.Processes))
	}
	coordinator := ""
	if !o.Cold {
		coordinator = highest(members[:o.Processes])
	}
	for p := range int32(n) {
		a := &s.agents[p]
		a.up, a.uid = true, 1
		if o.Drift > 0 {
			s.nodes[p].slow = int64(1000+s.rng.IntN(2*o.Drift)-o.Drift) / 10
		}
		if int(p) < o.Processes {
			s.enter(p, coordinator)
		}
		s.plan(Time(s.rng.Int64N(int64(heartbeat))), looks, tickTask, p)
	}
	s.plan(s.gap(), faults, faultTask, 0)
	s.plan(sampled, looks, sampleTask, 0)
	if o.Guarded {
		s.open()
	}
}

// highest is the candidate that outranks all others, if there is one.
func highest(processes []election.Process) string {
	if h := Highest(processes); h.Priority > 0 {
		return h.Name
	}
	return ""
}

// simulated are the names of simulated processes.
var simulated = []string{"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9"}

// seat is the place of a simulated process.
func seat(name string) int32 { return int32(name[1] - '1') }

// again is a slice of n zero values in the memory of an old one.
func again[E any](old []E, n int) []E {
	if cap(old) < n {
		return make([]E, n)
	}
	old = old[:n]
	clear(old)
	return old
}

func (s *Simulator) plan(at Time, r rank, k taskKind, p int32) *task {
	t := s.queue.push(at, r)
	t.kind, t.to = k, p
	return t
}

// until lets happen what happens up to an instant.
func (s *Simulator) until(end Time) {
	for s.broken == nil && s.queue.len() > 0 && s.queue.heap[0].at <= end {
		at, t := s.queue.pop()
		s.now = at
		if !s.asleep(at, &t) {
			s.handle(&t)
		}
		if s.queue.len() > s.capacity() {
			s.fail("G13: %d tasks wait", s.queue.len())
		}
	}
	s.now = end
}

// capacity bounds what may be under way at once: some messages for each pair, with all their duplicates.
func (s *Simulator) capacity() int { return 1000 + 400*len(s.pairs) }

// asleep puts off what comes to a process that is paused: it reads its mail first when it wakes, then its timers run out.
func (s *Simulator) asleep(at Time, t *task) bool {
	switch t.kind {
	case arrive, expire, tickTask, doubtTask, noticeTask, enrolTask, requestTask, responseTask, leaseTask, pollTask, closedTask:
	default:
		return false
	}
	wakes := s.nodes[t.to].awake
	if at >= wakes {
		return false
	}
	r := looks
	switch t.kind {
	case arrive, requestTask, responseTask:
		r = arrivals
	case expire, leaseTask:
		r = timeouts
	}
	*s.queue.push(wakes, r) = *t
	return true
}

func (s *Simulator) handle(t *task) {
	switch t.kind {
	case arrive:
		s.arrived(t)
	case expire:
		if s.due(t) {
			s.timeout(t)
		}
	case tickTask:
		s.tick(t.to)
	case doubtTask:
		s.doubt(t)
	case noticeTask:
		s.notice(t)
	case faultTask:
		s.strike()
	case bootTask:
		s.start(t.to, t.sequence == planned)
	case enrolTask:
		s.enrol(t.to, t.sequence)
	case wellTask:
		s.restore(t.to, t.sequence == planned)
	case leaveTask:
		if s.nodes[t.to].life == t.life {
			s.crash(t.to)
		}
	case cutTask:
		s.flap(t)
	case sampleTask:
		s.sample()
	default:
		s.handleGuarded(t)
	}
}

func (s *Simulator) pair(p, q int32) *pair { return &s.pairs[int(p)*len(s.nodes)+int(q)] }

// chance is true in so many of a thousand cases, and never in calm.
func (s *Simulator) chance(perMille int) bool {
	return perMille > 0 && !s.calm && s.rng.IntN(1000) < perMille
}

func (s *Simulator) gap() Time { return s.now + 1 + Time(s.rng.Int64N(2*int64(s.Gap))) }

func (s *Simulator) fail(format string, args ...any) {
	if s.broken == nil {
		s.broken = &Failure{Options: s.Options, At: s.now, Broken: fmt.Sprintf(format, args...)}
	}
}
