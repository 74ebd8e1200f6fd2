package electiontest

import (
	"fmt"

	"github.com/podesta-dev/podesta/internal/election"

	"github.com/podesta-dev/podesta/internal/lease"
)

// guardedGroup is what a simulator keeps of a Guarded group.
type guardedGroup struct {
	guards    []guard
	office    office
	requested [64]oldMail // requests to be replayed
	requests  int         // requests and responses sent
	oracle    oracle
	world     world
	managers  [managers]manager
	draft     []lease.Member // scratch
	order     []int32        // scratch
	register  register
	changed   Time // when a process began to hold an epoch last
}

// establish makes the group object, its pods, and the first roster, which has no voters yet.
func (s *Simulator) establish(members []election.Process) {
	n := len(members)
	s.guards = again(s.guards, n)
	s.office.reset()
	s.requested, s.requests, s.changed, s.register = [64]oldMail{}, 0, 0, register{}
	s.oracle.begin(n)
	s.world = world{pods: again(s.world.pods, n), ring: s.world.ring[:0], lease: s.Lease, runs: s.Algorithm, version: 1, group: 1}
	r := &lease.Roster{Group: s.group(), Generation: s.clockGeneration(), Lease: s.Lease, Heartbeat: ms(heartbeat), Timeout: ms(5 * T / 2),
		Preemption: s.Preemption, Stable: s.Stable}
	for p, q := range members {
		s.guards[p] = guard{s: s, p: int32(p)}
		s.guards[p].clock.within(s.rng, s.Rate)
		s.guards[p].app.session = s.Sessions && s.rng.IntN(2) == 0
		s.world.pods[p] = pod{there: p < s.Processes, uid: 1, priority: q.Priority}
		if p < s.Processes {
			s.world.ring = append(s.world.ring, int32(p))
			r.Members = append(r.Members, lease.Member{Name: q.Name, UID: q.UID, Priority: q.Priority})
		}
	}
	s.rosters[0].lease = r
	s.oracle.majors[r.Generation] = r
	for i := range s.managers {
		m := &s.managers[i]
		*m = manager{rate: right, reports: again(m.reports, n), cached: 1}
		if s.Rate > 0 {
			m.rate += int64(s.rng.IntN(2*s.Rate*1000+1) - s.Rate*1000)
		}
	}
}

func ms(t Time) lease.Instant { return at(t, right) }

// open lets managers and apps begin.
func (s *Simulator) open() {
	for i := range s.managers {
		s.plan(s.now+Time(s.rng.Int64N(int64(T))), looks, manageTask, 0).sequence = i
	}
	for p := range s.guards {
		s.plan(s.now+Time(s.rng.Int64N(int64(T))), looks, pollTask, int32(p))
	}
}

// handleGuarded lets happen what happens in Guarded groups only.
func (s *Simulator) handleGuarded(t *task) {
	switch t.kind {
	case requestTask:
		s.requestArrives(t)
	case responseTask:
		s.responseArrives(t)
	case leaseTask:
		s.tickLease(t)
	case pollTask:
		s.poll(t)
	case actTask:
		if g := &s.guards[t.to]; t.sequence == s.world.group {
			s.act(g, lease.Epoch(t.life))
		}
	case manageTask:
		s.manage(t.sequence)
	case wornTask:
		s.world.pods[t.to].ended[t.sequence] = s.now
	case closedTask:
		g := &s.guards[t.to]
		if s.nodes[t.to].machine != nil && s.nodes[t.to].life == t.life && s.reaches(t.to, t.from) {
			s.authorise(g.p, lease.Event{Type: lease.LinkDown, Process: s.nodes[t.from].name})
		}
	default:
	}
}

// tell observes a request or a response.
func (s *Simulator) tell(k EventKind, p, peer int32, m *mail) {
	if s.observe == nil {
		return
	}
	note := requestNote(m)
	if v := &m.response; v.Kind != "" {
		note = fmt.Sprintf("%s %s round %d: %t, generation %d, highest %s, %q holds %s for %v, heard %t, candidate %t", v.Kind, v.Epoch,
			v.Round, v.Granted, v.Generation, v.Highest, v.Holder, v.HolderEpoch, v.Remaining, v.Heard, v.Candidate)
	}
	s.note(k, p, peer, note)
}

func requestNote(m *mail) string {
	q := &m.request
	return fmt.Sprintf("%s %s round %d lease %v heir %q, life %d", q.Kind, q.Epoch, q.Round, q.Lease, q.Heir,
		m.from.Number)
}

// sampled is how often somebody looks.
const sampled = T / 2

// sample notes whether somebody may act, and whether anybody could.
func (s *Simulator) sample() {
	s.plan(s.now+sampled, looks, sampleTask, 0)
	switch {
	case s.led():
		s.Led += sampled
	case s.leadable():
		s.Leaderless += sampled
	}
}

// led reports whether a process may act: holds, or in a Classic group takes itself for the coordinator.
func (s *Simulator) led() bool {
	for p := range s.nodes {
		m := s.nodes[p].machine
		switch {
		case m == nil || s.now < s.nodes[p].awake:
		case s.Guarded:
			if h := &s.oracle.holds[p]; h.epoch != 0 && s.now < h.until {
				return true
			}
		case m.State().Coordinator == s.nodes[p].name:
			return true
		}
	}
	return false
}

// leadable reports whether a candidate is connected to a majority: of the voters, in a Guarded group, of all in a Classic one. All have
// one roster.
func (s *Simulator) leadable() bool {
	for p := range int32(len(s.nodes)) {
		if !s.runs(p) || s.nodes[p].machine.State().Withdrawn {
			continue
		}
		r := &s.rosters[s.agents[p].generation]
		connected, all, candidate := 0, 0, false
		for i := range r.processes {
			q := seat(r.processes[i].Name)
			candidate = candidate || q == p && r.processes[i].Priority > 0
			if r.lease != nil && !r.lease.Members[i].Voter {
				continue
			}
			all++
			if (q == p || s.runs(q) && s.reaches(p, q) && s.agents[p].generation == s.agents[q].generation) &&
				(r.lease == nil || s.votes(&r.lease.Members[i])) {
				connected++
			}
		}
		if candidate && connected > all/2 {
			return true
		}
	}
	return false
}

// runs reports whether a process takes part and is not paused.
func (s *Simulator) runs(p int32) bool { return s.nodes[p].machine != nil && s.now >= s.nodes[p].awake }
