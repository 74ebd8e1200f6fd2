package electiontest

import (
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// The manager of a simulated Guarded group: rules R1 to R7 of docs/reference/lease.md. There are two; the group's status decides between
// them. What they know of the pods comes from the API, what they know of the agents from reports.

// world is the API: the group object, its status with the newest roster, and the pods.
type world struct {
	pods    []pod // by place
	ring    []int32
	lease   time.Duration
	runs    string // the algorithm
	version int    // of the group's status: how many rosters were persisted
	group   int    // which object of the name it is
	edited  bool   // since the newest roster
}

// pod is a pod of the group as the API shows it.
type pod struct {
	there    bool // it exists and carries the label; it may run or not
	uid      int
	priority int32
	ended    [mostMemories]Time // when it became known that the agent with this memory has ended; 0: it is not
}

const mostMemories = 64

// report is what an agent has told a manager last.
type report struct {
	at         Time
	uid        int
	memory     int
	group      string
	generation int64
}

// manager is one of the two.
type manager struct {
	down    Time // until then
	rate    int64
	cached  int // the version of the status that it knows
	reports []report
	since   Time // when it learnt that a majority has acknowledged the newest roster; 0: it has not
	acked   int  // the version that this is about
	founded Time // when it first saw that there are no voters
}

const managers = 2

func (s *Simulator) group() string { return uids[s.world.group] }

// newest is the roster in the status.
func (s *Simulator) newest() *roster { return &s.rosters[len(s.rosters)-1] }

// longest is the longest lease that a promise of this group object may still have.
func (s *Simulator) longest() (longest time.Duration) {
	for i := len(s.rosters) - 1; i >= 0 && s.rosters[i].lease.Group == s.group(); i-- {
		longest = max(longest, s.rosters[i].lease.Lease)
	}
	return longest
}

// report: an agent tells the managers what it is and which roster it has.
func (s *Simulator) report(p int32) {
	g := &s.guards[p]
	if s.now < s.agents[p].stranded {
		return
	}
	if g.gate == nil || s.nodes[p].machine == nil {
		// It has joined, and is on no roster yet.
		for i := range s.managers {
			if m := &s.managers[i]; s.now >= m.down && s.agents[p].up {
				m.reports[p] = report{at: s.now, uid: s.agents[p].uid, memory: g.disk.number}
			}
		}
		return
	}
	st := g.lease.State()
	for i := range s.managers {
		if m := &s.managers[i]; s.now >= m.down {
			m.reports[p] = report{at: s.now, uid: s.agents[p].uid, memory: g.disk.number, group: st.Group, generation: st.Generation}
		}
	}
}

// manage is a turn of a manager.
func (s *Simulator) manage(i int) {
	t := s.plan(s.now+1+Time(s.rng.Int64N(int64(2*T))), looks, manageTask, 0)
	t.sequence = i
	m := &s.managers[i]
	if s.now < m.down {
		m.since, m.founded = 0, 0
		clear(m.reports)
		return
	}
	stale := m.cached != s.world.version && !s.calm && s.rng.IntN(3) == 0 // its cache lags
	if !stale {
		m.cached = s.world.version
	}
	known := &s.rosters[m.cached-1]
	if known.lease.Group != s.group() {
		return
	}
	next, ok := s.next(m, known)
	if !ok || m.cached != s.world.version { // R1: the status has moved on
		return
	}
	s.persist(next)
	m.cached = s.world.version
}

// persist writes a roster into the status, and hands it out.
func (s *Simulator) persist(next roster) {
	s.rosters = append(s.rosters, next)
	s.world.version, s.world.edited = len(s.rosters), false
	s.oracle.majors[next.lease.Generation] = next.lease
	if s.observe != nil {
		s.note(Persisted, -1, -1, describe(next.lease))
	}
	for p := range int32(len(s.nodes)) {
		at := max(s.now, s.agents[p].stranded) + 1 + Time(s.rng.Int64N(int64(s.Lag)+1))
		s.plan(at, faults, enrolTask, p).sequence = len(s.rosters) - 1
	}
}

// acknowledged reports whether a majority of the newest roster's voters has acknowledged it, and two longest leases have passed
// since (R4).
func (s *Simulator) acknowledged(m *manager, known *roster) bool {
	if m.acked != m.cached {
		m.acked, m.since = m.cached, 0
	}
	acks := 0
	for i := range known.lease.Members {
		q := &known.lease.Members[i]
		p := seat(q.Name)
		r := &m.reports[p]
		switch {
		case !q.Voter:
		case s.ended(m, q, 0):
			acks++
		case r.at > 0 && r.group == known.lease.Group && r.generation == known.lease.Generation &&
			uids[r.uid] == q.UID && memory(q.Name, r.memory) == q.StateID:
			acks++
		}
	}
	if acks < voters(known.lease.Members)/2+1 {
		m.since = 0
		return false
	}
	if m.since == 0 {
		m.since = s.now
	}
	return at(s.now-m.since, m.rate) > 2*s.longest()*11/9
}

// ended reports whether a voter is known to have ended, and was before that instant (R5).
func (s *Simulator) ended(m *manager, q *lease.Member, before Time) bool {
	p := seat(q.Name)
	pod := &s.world.pods[p]
	since := pod.ended[memoryNumber(q)]
	if r := &m.reports[p]; r.at > 0 && uids[r.uid] == q.UID && memory(q.Name, r.memory) != q.StateID && since == 0 {
		since = s.now // the same pod has another memory
		pod.ended[memoryNumber(q)] = since
	}
	return since > 0 && (before == 0 || since <= before)
}

// memoryNumber is which of a process's memories that is.
func memoryNumber(q *lease.Member) (n int) {
	for _, c := range q.StateID[len(q.Name)+1:] {
		n = 10*n + int(c-'0')
	}
	return n
}
