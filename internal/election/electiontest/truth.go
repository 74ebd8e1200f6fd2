package electiontest

import (
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
)

// truth is what invariants remember of a run.
type truth struct {
	decisions map[election.ID]string // who was followed because of which announcement
	lastSent  Time
	lastMoved Time // somebody followed somebody else
}

func (t *truth) begin(int) {
	if t.decisions == nil {
		t.decisions = map[election.ID]string{}
	}
	clear(t.decisions)
	t.lastSent, t.lastMoved = 0, 0
}

// after checks what must hold after every step, and lets the agent follow it up.
func (s *Simulator) after(p int32, before election.State, e *election.Event, out election.Output, doomed bool) {
	v := &s.nodes[p]
	state := v.machine.State()
	s.checkOutput(p, e, out)
	s.checkState(p, state)
	if len(out.Messages) > 0 {
		s.truth.lastSent = s.now
	}
	if decided(before, state) {
		s.agents[p].followed, s.truth.lastMoved = s.now, s.now
		s.checkDecision(p, state)
	}
	s.mix(uint64(p), uint64(e.Type))
	if doomed {
		s.crash(p)
		return
	}
	if s.Guarded {
		return // settle does it, when the gate is through
	}
	if e.Type != election.Receive && e.Type != election.Timeout || state.Coordinator != before.Coordinator {
		s.rewire(p)
	}
}

// checkOutput: what a step asks for is bounded, and goes to processes of the roster (G12, G13).
func (s *Simulator) checkOutput(p int32, e *election.Event, out election.Output) {
	r := s.rosters[s.agents[p].generation].processes
	n := len(r)
	if len(out.Messages) > 4*n+4 || len(out.Timers) > 12 {
		s.fail("G13: one step of %s sends %d messages and %d timer operations", s.nodes[p].name, len(out.Messages), len(out.Timers))
	}
	for i := range out.Messages {
		m := &out.Messages[i]
		if m.Message.Hops < 0 || m.Message.Hops > 2*len(s.nodes) || !s.Rogue && max(len(m.Message.List), len(m.Message.Table)) > len(s.nodes)+1 {
			s.fail("G13: %s sends %v", s.nodes[p].name, *m)
		}
		if e.Type == election.Receive && relays(&m.Message, &e.Message) && m.Message.Process != s.nodes[p].name &&
			m.Message.Hops >= e.Message.Hops {
			s.fail("G13: %s passes %v on as if it had not travelled", s.nodes[p].name, *m)
		}
		if m.To == s.nodes[p].name || place(r, m.To) < 0 {
			s.fail("G12: %s sends to %q", s.nodes[p].name, m.To)
		}
	}
}

// relays reports whether a ring's message is the one that came in.
func relays(out, in *election.Message) bool {
	return in.Hops > 0 && out.Hops > 0 && out.Kind == in.Kind && out.Election == in.Election && out.Process == in.Process
}

// checkState: who is followed is on the roster and may coordinate (G9), and an election under way has a timer that ends it.
func (s *Simulator) checkState(p int32, state election.State) {
	v := &s.nodes[p]
	if state.Electing && v.timers[0]&1 == 0 && v.timers[1]&1 == 0 {
		s.fail("L1: %s is electing, and no timer runs", v.name)
	}
	if state.Coordinator == "" {
		if !state.Electing {
			s.fail("L1: %s follows nobody, and does not elect", v.name)
		}
		return
	}
	r := s.rosters[s.agents[p].generation].processes
	i := place(r, state.Coordinator)
	switch {
	case i < 0:
		s.fail("G9: %s follows %s, which is not on its roster", v.name, state.Coordinator)
	case r[i].Priority <= 0:
		s.fail("G9: %s follows %s, which never coordinates", v.name, state.Coordinator)
	case state.Coordinator == v.name && state.Withdrawn:
		s.fail("G9: %s coordinates though it has withdrawn", v.name)
	}
}

// checkDecision: one announcement has one coordinator. Where a rogue forges announcements, it need
// not; nor in the active-list ring, where every process decides by its own list.
func (s *Simulator) checkDecision(p int32, state election.State) {
	id := state.Last.Decision
	if s.Rogue || id.Initiator == "" || s.Algorithm == "ActiveListRing" || s.Switch {
		return
	}
	if other, ok := s.truth.decisions[id]; ok && other != state.Coordinator {
		s.fail("one decision: %s follows %s by %s, another followed %s", s.nodes[p].name, state.Coordinator, id, other)
	}
	s.truth.decisions[id] = state.Coordinator
}

func place(processes []election.Process, name string) int {
	for i := range processes {
		if processes[i].Name == name {
			return i
		}
	}
	return -1
}

// quieten ends all faults. What is under way still comes; who is down comes back, unless this seed lets it rest; the rogue
// is stopped for good.
func (s *Simulator) quieten() {
	s.calm = true
	s.note(Healed, -1, -1, "calm")
	if s.rogue >= 0 && s.agents[s.rogue].up {
		s.agents[s.rogue].up = false
		s.exit(s.rogue)
	}
	soon := func(within Time) Time { return s.now + 1 + Time(s.rng.Int64N(int64(within))) }
	for i := range s.pairs {
		r := &s.pairs[i]
		r.cut, r.clogged = s.now, s.now
		if r.breaks > 0 {
			r.breaks = min(r.breaks, soon(2*T))
		}
	}
	if s.Ragged {
		s.tatter()
	}
	for p := range int32(len(s.nodes)) {
		s.nodes[p].slow = 100
		a := &s.agents[p]
		if !a.up && p != s.rogue && (!s.Rest || s.alone(p)) {
			s.plan(soon(2*T), faults, bootTask, p).sequence = planned
		}
		if a.ill && !s.Rest {
			s.plan(soon(2*T), faults, wellTask, p).sequence = planned
		}
		s.plan(soon(5*T), faults, enrolTask, p).sequence = len(s.rosters) - 1
	}
	if s.Rogue {
		s.expel()
	}
}

// expel takes the rogue off the roster, when what it said has come to its end: a ring believes that until the roster changes.
func (s *Simulator) expel() {
	if s.Guarded {
		s.world.pods[s.rogue].there, s.world.edited = false, true
		return
	}
	newest := s.rosters[len(s.rosters)-1]
	rest := slices.DeleteFunc(slices.Clone(newest.processes), func(p election.Process) bool { return p.Name == s.nodes[s.rogue].name })
	if len(rest) > 0 {
		s.rosters = append(s.rosters, roster{processes: rest, algorithm: newest.algorithm})
	}
	for p := range int32(len(s.nodes)) {
		at := s.now + leftovers + 5*T + Time(s.rng.Int64N(int64(5*T)))
		s.plan(at, faults, enrolTask, p).sequence = len(s.rosters) - 1
	}
}

// alone reports whether nobody is up but p: then it does not rest, or there would be nothing to see.
func (s *Simulator) alone(p int32) bool {
	for q := range s.agents {
		if int32(q) != p && s.agents[q].up {
			return false
		}
	}
	return true
}

// patience is how long calm lasts: the longest pauses and delays of chaos, then some elections that come to nothing and one that
// does, then silence.
func (s *Simulator) patience() Time {
	calm := leftovers + 20*T + Time(len(s.nodes))*2*T + silence
	if s.Rogue {
		calm += leftovers + 10*T // it is taken off the roster then
	}
	return calm
}

// leftovers is how long pauses and delays of chaos last on, at most.
const leftovers = 20 * T

// silence is how long at the end of calm nothing may be sent and nobody may change coordinators.
const silence = 20 * T

// quiet checks that calm has brought agreement on the highest live candidate (L1, L2, L4, L5), and silence (L3, L6).
func (s *Simulator) quiet() {
	newest := s.rosters[len(s.rosters)-1]
	var best election.Process
	for _, process := range newest.processes {
		m := s.nodes[s.places[process.Name]].machine
		if m != nil && process.Priority > 0 && !m.State().Withdrawn && (best.Name == "" || process.Outranks(best)) {
			best = process
		}
	}
	live := false
	for p := range s.nodes {
		v := &s.nodes[p]
		if v.machine == nil {
			continue
		}
		live = true
		if c := v.machine.State().Coordinator; c != best.Name {
			s.fail("L1, L2, L4, L5: in the end %s follows %q; the highest live candidate is %q", v.name, c, best.Name)
		}
	}
	if best.Name != "" {
		s.Settled = max(0, s.truth.lastSent-s.Chaos)
	}
	if live && best.Name != "" && s.now-s.truth.lastSent < silence {
		s.fail("L3, L6: a message is sent at %d, long after calm began", s.truth.lastSent)
	}
}
