package electiontest

import "github.com/podesta-dev/podesta/internal/tenure"

// What becomes of petitions and verdicts in a simulation. A petition goes over its petitioner's own link; the verdict comes back
// on that link, and needs the way back.

// mail is a petition or a verdict under way.
type mail struct {
	from     tenure.Life // who says it
	petition tenure.Petition
	verdict  tenure.Verdict
	sequence int
}

// post office: letters lie in slots that are used again.
type office struct {
	mails []mail
	free  []int32
}

func (o *office) reset() { o.mails, o.free = o.mails[:0], o.free[:0] }

func (o *office) put(m *mail) int32 {
	if last := len(o.free) - 1; last >= 0 {
		slot := o.free[last]
		o.free = o.free[:last]
		o.mails[slot] = *m
		return slot
	}
	o.mails = append(o.mails, *m)
	return int32(len(o.mails) - 1)
}

func (o *office) take(slot int32) mail {
	o.free = append(o.free, slot)
	return o.mails[slot]
}

// Petition implements gate.Driver.
func (g *guard) Petition(to string, p tenure.Petition) {
	s := g.s
	if g.dead() {
		return
	}
	q := seat(to)
	s.checkPetition(g, p)
	s.petitions++
	m := mail{from: g.self, petition: p, sequence: s.petitions}
	s.tell(Petitions, g.p, q, &m)
	s.mix(uint64(g.p)<<8|uint64(q), uint64(p.Epoch)^p.Round)
	r := s.pair(g.p, q)
	if r.link != open && r.link != making {
		s.tell(Astray, q, g.p, &m)
		return
	}
	if s.chance(s.Loss) || !s.passes(g.p, q) {
		s.tear(r)
		s.tell(Astray, q, g.p, &m)
		return
	}
	s.mailTo(petitionTask, s.arrival(r), g.p, q, &m)
	if s.chance(s.Duplicate) {
		s.mailTo(petitionTask, s.arrival(r), g.p, q, &m)
	}
	if s.Replay > 0 {
		s.replayPetition(g.p, q, &m)
	}
}

// oldMail is a petition as it went out once.
type oldMail struct {
	from, to int32
	mail     mail
}

func (s *Simulator) replayPetition(p, q int32, m *mail) {
	s.petitioned[s.petitions%len(s.petitioned)] = oldMail{p, q, *m}
	if s.chance(s.Replay) {
		old := &s.petitioned[s.rng.IntN(min(s.petitions, len(s.petitioned)))]
		if old.mail.from.Name == "" {
			return
		}
		t := s.mailTo(petitionTask, s.now+1+Time(s.rng.Int64N(int64(10*T))), old.from, old.to, &old.mail)
		t.target = 0
	}
}

func (s *Simulator) mailTo(k taskKind, at Time, from, to int32, m *mail) *task {
	t := s.queue.push(at, arrivals)
	t.kind, t.from, t.to, t.timer = k, from, to, s.office.put(m)
	t.life, t.target = s.nodes[from].life, s.nodes[to].life
	return t
}

// petitionArrives lets a process decide, and sends its verdict back.
func (s *Simulator) petitionArrives(t *task) {
	m := s.office.take(t.timer)
	v, g := &s.nodes[t.to], &s.guards[t.to]
	if v.machine == nil || t.target != 0 && t.target != v.life || !s.passes(t.from, t.to) {
		if v.machine != nil && !s.passes(t.from, t.to) {
			s.tear(s.pair(t.from, t.to))
		}
		s.tell(Astray, t.to, t.from, &m)
		return
	}
	s.tell(Hears, t.to, t.from, &m)
	life := v.life
	s.released(g, &m)
	verdict := s.authorise(t.to, tenure.Event{Type: tenure.Petitioned, Process: m.from.Name, From: m.from, Petition: m.petition})
	if verdict == nil || v.machine == nil || v.life != life {
		return
	}
	s.granted(g, m.from, &m.petition, verdict)
	if s.chance(s.VoterDies) && verdict.Granted {
		if s.rng.IntN(2) == 0 {
			s.crash(t.to)
			return
		}
		defer s.crash(t.to)
	}
	s.petitions++
	back := mail{from: g.self, verdict: *verdict, sequence: m.sequence}
	s.answer(t.to, t.from, &back)
}

// answer sends a verdict back over the petitioner's link.
func (s *Simulator) answer(p, q int32, m *mail) {
	r := s.pair(q, p)
	s.tell(Decides, p, q, m)
	switch {
	case s.nodes[q].machine == nil || s.nodes[q].name == m.from.Name || r.link != open && r.link != making:
		return
	case s.chance(s.Loss) || !s.passes(p, q):
		s.tear(r)
		return
	}
	at := s.now + 1 + Time(s.rng.Int64N(int64(Unit)))
	if s.chance(s.Tail) {
		at = s.now + 1 + Time(s.rng.Int64N(int64(10*T)))
	}
	at = max(at, s.pair(p, q).clogged)
	if !s.Reorder || s.calm {
		at = max(at, r.back)
	}
	r.back = max(r.back, at)
	s.mailTo(verdictTask, at, p, q, m)
	if s.chance(s.Duplicate) {
		s.mailTo(verdictTask, at+1+Time(s.rng.Int64N(int64(Unit))), p, q, m)
	}
}

// verdictArrives tells the petitioner what was decided.
func (s *Simulator) verdictArrives(t *task) {
	m := s.office.take(t.timer)
	v := &s.nodes[t.to]
	if v.machine == nil || t.target != v.life || !s.passes(t.from, t.to) {
		return
	}
	s.tell(Learns, t.to, t.from, &m)
	s.authorise(t.to, tenure.Event{Type: tenure.Decided, Process: m.from.Name, From: m.from, Verdict: m.verdict})
}
