package electiontest

import "github.com/podesta-dev/podesta/internal/election"

// What becomes of messages in a simulation.

// dispatch sends a message on its way, or not.
func (s *Simulator) dispatch(from, to int32, e *election.Envelope, sequence int) {
	r := s.pair(from, to)
	s.mix(uint64(from), uint64(to))
	if r.link != open && r.link != making {
		s.drop(from, to, e, sequence, "there is no link")
		return
	}
	if s.chance(s.Loss) || !s.passes(from, to) {
		s.tear(r)
		s.drop(from, to, e, sequence, "lost on the way")
		return
	}
	s.stamp(s.post(s.arrival(r), from, to, &e.Message, sequence))
	if s.chance(s.Duplicate) {
		s.stamp(s.post(s.arrival(r), from, to, &e.Message, sequence))
	}
	s.remember(from, to, e)
	if s.chance(s.Replay) {
		s.replay()
	}
}

// stamp notes what a message says of its sender besides its name: its pod, and the algorithm that it runs, by its roster.
func (s *Simulator) stamp(t *task) {
	a := &s.agents[t.from]
	t.uid, t.generation = uint8(a.uid), uint32(a.generation)
}

// tear: a message was lost, so the link is broken. Its sender sees that sooner or later, and makes it anew.
func (s *Simulator) tear(r *pair) {
	if r.breaks == 0 {
		r.breaks = s.now + 1 + Time(s.rng.Int64N(int64(20*T)))
	}
}

// arrival draws when a message arrives.
func (s *Simulator) arrival(r *pair) Time {
	at := s.now + 1 + Time(s.rng.Int64N(int64(Unit)))
	if s.chance(s.Tail) {
		at = s.now + 1 + Time(s.rng.Int64N(int64(10*T)))
	}
	at = max(at, r.clogged)
	if !s.Reorder || s.calm {
		at = max(at, r.last)
	}
	r.last = max(r.last, at)
	return at
}

func (s *Simulator) drop(from, to int32, e *election.Envelope, sequence int, why string) {
	if s.observe != nil {
		s.lose(&task{from: from, to: to, message: e.Message, sequence: sequence}, why)
	}
}

func (s *Simulator) remember(from, to int32, e *election.Envelope) {
	if s.Replay > 0 {
		a := &s.agents[from]
		s.old[s.said%len(s.old)] = saying{from, to, s.nodes[from].life, uint8(a.uid), uint32(a.generation), e.Message}
		s.said++
	}
}

// replay lets an old message arrive once more, in whatever life its receiver is.
func (s *Simulator) replay() {
	l := &s.old[s.rng.IntN(min(s.said, len(s.old)))]
	t := s.queue.push(s.now+1+Time(s.rng.Int64N(int64(10*T))), arrivals)
	t.kind, t.from, t.to, t.message, t.life = arrive, l.from, l.to, l.message, l.life
	t.uid, t.generation = l.uid, l.generation
}

// arrived hands a message over, unless its link broke meanwhile.
func (s *Simulator) arrived(t *task) {
	v := &s.nodes[t.to]
	switch {
	case v.machine == nil:
		s.lose(t, v.name+" is down")
	case t.target != 0 && t.target != v.life:
		s.lose(t, v.name+" has restarted")
	case !s.passes(t.from, t.to):
		s.tear(s.pair(t.from, t.to))
		s.lose(t, "cut off")
	case s.rosters[t.generation].algorithm != s.rosters[s.agents[t.to].generation].algorithm:
		s.lose(t, "another algorithm")
	case s.replaced(t):
		s.lose(t, "refused: its pod has been replaced")
	default:
		s.deliver(t)
	}
}

// replaced reports whether the receiver knows the sender's name as another pod's.
func (s *Simulator) replaced(t *task) bool {
	r := s.rosters[s.agents[t.to].generation].processes
	i := place(r, s.nodes[t.from].name)
	return i >= 0 && r[i].UID != uids[t.uid]
}

// deliver hands a message to the machine. One from a stranger, or of an earlier life, must change nothing (G11, G12).
func (s *Simulator) deliver(t *task) {
	r := s.pair(t.to, t.from)
	if r.heardLife != s.nodes[t.to].life {
		r.heard, r.heardLife = 0, s.nodes[t.to].life
	}
	v := &s.nodes[t.to]
	stranger := place(s.rosters[s.agents[t.to].generation].processes, s.nodes[t.from].name) < 0
	late := t.life < r.heard
	if !stranger {
		r.heard = max(r.heard, t.life)
	}
	s.mix(uint64(t.sequence), uint64(t.message.Hops))
	if !stranger && !late {
		s.hand(t)
		return
	}
	before, sent, life := v.machine.State(), s.sequence, v.life
	s.hand(t)
	if v.machine == nil || v.life != life || v.machine.State() != before || s.sequence != sent {
		s.fail("G11, G12: %s was moved by %s of %s, stranger %t, of an earlier life %t", v.name, t.message.Kind,
			s.nodes[t.from].name, stranger, late)
	}
}

// mix adds to the fingerprint of the run (G14).
func (s *Simulator) mix(a, b uint64) {
	x := s.Trace ^ uint64(s.now)<<32 ^ a<<16 ^ b
	x *= 0x9e3779b97f4a7c15
	s.Trace = x ^ x>>29
}
