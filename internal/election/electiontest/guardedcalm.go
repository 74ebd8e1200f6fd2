package electiontest

import (
	"time"

	"github.com/podesta-dev/podesta/internal/lease"
)

// What must hold in a Guarded group when faults have ended.

// recovery is how long after the last fault, and after the last roster, somebody has to hold and all have to agree: what pauses and
// delays chaos left, a lease that has to run out, a rest or a fallback, a hand-over.
const recovery = leftovers + 80*T

// calmDown lets calm go on until the roster is settled, then for as long as recovery takes, then for a silence.
func (s *Simulator) calmDown() {
	for i := range s.managers {
		s.managers[i].down = min(s.managers[i].down, s.now)
	}
	for p := range s.agents {
		s.agents[p].stranded = min(s.agents[p].stranded, s.now)
	}
	for s.broken == nil {
		rosters, end := len(s.rosters), s.now+recovery+s.ladder()
		s.until(end)
		if len(s.rosters) == rosters {
			break
		}
		if s.now > s.Chaos+1000*T {
			s.fail("L1: the roster still changes")
		}
	}
	changed := s.changed
	switch {
	case s.OwnLink:
		s.ownLink()
		return
	case s.Ragged:
		s.raggedly()
		return
	}
	s.until(s.now + silence)
	if s.broken == nil {
		s.quietGuarded(changed)
	}
}

// ladder is how long preemption may climb: from one to the next higher that has been steady for longest.
func (s *Simulator) ladder() Time {
	if s.Preemption != lease.Delayed {
		return 0
	}
	return 2 * Time(s.Stable/time.Millisecond)
}

// forever is after the end of every run.
const forever Time = 1 << 50

// tatter leaves some links cut for good.
func (s *Simulator) tatter() {
	shape, p, salt := s.rng.IntN(shapes), s.someone(), s.rng.Uint32()
	s.note(WasCut, p, -1, shapeNames[shape]+", for ever")
	for a := range int32(len(s.nodes)) {
		for b := range int32(len(s.nodes)) {
			if s.severed(shape, p, a, b, salt) {
				s.pair(a, b).cut = forever
			}
		}
	}
}

// raggedly checks that somebody holds most of the time though some links are cut for ever, if any candidate reaches a majority (L7).
func (s *Simulator) raggedly() {
	if s.Beyond || !s.reachable() {
		s.Stopped++
		return
	}
	led := s.Led
	s.until(s.now + 2*recovery)
	if s.broken == nil && s.Led-led < recovery {
		s.fail("L1, L7: a candidate reaches a majority; in %d somebody could act for %d only", 2*recovery, s.Led-led)
	}
}

// reachable reports whether some candidate has links both ways to a majority of the voters.
func (s *Simulator) reachable() bool {
	r := s.newest().lease
	for i := range r.Members {
		c := &r.Members[i]
		p := seat(c.Name)
		if c.Priority == 0 || s.nodes[p].machine == nil || s.agents[p].ill || s.agents[p].leaving {
			continue
		}
		n := 0
		for k := range r.Members {
			q := &r.Members[k]
			if s.votes(q) && (i == k || s.reaches(p, seat(q.Name))) {
				n++
			}
		}
		if n >= voters(r.Members)/2+1 {
			return true
		}
	}
	return false
}

// ownLink cuts one process off from the holder: nobody else is disturbed, and the holder holds on (T10).
func (s *Simulator) ownLink() {
	holder := s.holder()
	if s.broken != nil || holder < 0 {
		s.fail("L1: nobody holds though nothing has happened")
		return
	}
	epoch := s.oracle.holds[holder].epoch
	p := s.someone()
	for p == holder || s.nodes[p].machine == nil {
		p = s.someone()
	}
	s.note(WasCut, p, holder, "its own link, for ever")
	s.pair(p, holder).cut, s.pair(holder, p).cut = forever, forever
	lost := s.Leaderless
	s.until(s.now + recovery)
	if s.broken == nil && (s.holder() != holder || s.oracle.holds[holder].epoch != epoch || s.Leaderless != lost) {
		s.fail("T10: %s lost its link to %s, which held %s: that cost the group its coordinator", s.nodes[p].name, s.nodes[holder].name, epoch)
	}
}

// holder is who may act; -1 is nobody.
func (s *Simulator) holder() int32 {
	for p := range s.nodes {
		if h := &s.oracle.holds[p]; h.epoch != 0 && s.now < h.until {
			return int32(p)
		}
	}
	return -1
}

// votes reports whether a voter is there, with its memory.
func (s *Simulator) votes(q *lease.Member) bool {
	p := seat(q.Name)
	g := &s.guards[p]
	return q.Voter && s.nodes[p].machine != nil && g.self.StateID == q.StateID && g.self.UID == q.UID
}

// quietGuarded checks that calm has brought a holder whom all follow (L1, L2), that stays (L3), the highest if it preempts (L4).
func (s *Simulator) quietGuarded(changed Time) {
	r := s.newest().lease
	live := 0
	var best lease.Member
	for i := range r.Members {
		q := &r.Members[i]
		if s.votes(q) {
			live++
		}
		m := s.nodes[seat(q.Name)].machine
		if m != nil && q.Priority > 0 && !s.agents[seat(q.Name)].ill && !s.agents[seat(q.Name)].leaving && (best.Name == "" || outranks(q, &best)) {
			best = *q
		}
	}
	if s.Beyond || live < voters(r.Members)/2+1 || best.Name == "" {
		s.Stopped++ // there is no majority, or no candidate: the group rightly stops
		return
	}
	holder := s.holder()
	if holder < 0 {
		s.fail("L1: nobody may act in the end")
		return
	}
	s.Settled = max(0, s.changed-s.Chaos)
	name, epoch := s.nodes[holder].name, s.oracle.holds[holder].epoch
	for p := range s.nodes {
		if s.nodes[p].machine == nil {
			continue
		}
		if who, e, _ := s.guards[p].lease.Following(); who != name || e != epoch {
			s.fail("L2: in the end %s follows %q under %s; %s holds %s", s.nodes[p].name, who, e, name, epoch)
		}
		if c := s.nodes[p].machine.State(); c.Coordinator != name || c.Electing {
			s.fail("L2: in the end the election machine of %s names %q, electing %t; %s holds %s", s.nodes[p].name, c.Coordinator, c.Electing, name, epoch)
		}
	}
	if s.changed != changed {
		s.fail("L3: %s began to hold %s at %d, long after calm began", name, epoch, s.changed)
	}
	if r.Preemption != lease.Never && name != best.Name {
		s.fail("L4: in the end %s holds; the highest live candidate is %s", name, best.Name)
	}
	if s.now-s.truth.lastSent < silence {
		s.fail("L6: a message is sent at %d, long after calm began", s.truth.lastSent)
	}
}

func outranks(q, best *lease.Member) bool {
	if q.Priority != best.Priority {
		return q.Priority > best.Priority
	}
	return q.Name > best.Name
}
