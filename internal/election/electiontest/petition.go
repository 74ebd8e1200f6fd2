package electiontest

import "github.com/podesta-dev/podesta/internal/lease"

// What becomes of requests and responses in a simulation. A request goes over its requester's own link; the response comes back
// on that link, and needs the way back.

// mail is a request or a response under way.
type mail struct {
	from     lease.Incarnation // who says it
	request  lease.Request
	response lease.Response
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

// Request implements gate.Driver.
func (g *guard) Request(to string, p lease.Request) {
	s := g.s
	if g.dead() {
		return
	}
	q := seat(to)
	s.checkRequest(g, p)
	s.requests++
	m := mail{from: g.self, request: p, sequence: s.requests}
	s.tell(Requests, g.p, q, &m)
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
	s.mailTo(requestTask, s.arrival(r), g.p, q, &m)
	if s.chance(s.Duplicate) {
		s.mailTo(requestTask, s.arrival(r), g.p, q, &m)
	}
	if s.Replay > 0 {
		s.replayRequest(g.p, q, &m)
	}
}

// oldMail is a request as it went out once.
type oldMail struct {
	from, to int32
	mail     mail
}

func (s *Simulator) replayRequest(p, q int32, m *mail) {
	s.requested[s.requests%len(s.requested)] = oldMail{p, q, *m}
	if s.chance(s.Replay) {
		old := &s.requested[s.rng.IntN(min(s.requests, len(s.requested)))]
		if old.mail.from.Name == "" {
			return
		}
		t := s.mailTo(requestTask, s.now+1+Time(s.rng.Int64N(int64(10*T))), old.from, old.to, &old.mail)
		t.target = 0
	}
}

func (s *Simulator) mailTo(k taskKind, at Time, from, to int32, m *mail) *task {
	t := s.queue.push(at, arrivals)
	t.kind, t.from, t.to, t.timer = k, from, to, s.office.put(m)
	t.life, t.target = s.nodes[from].life, s.nodes[to].life
	return t
}

// requestArrives lets a process decide, and sends its response back.
func (s *Simulator) requestArrives(t *task) {
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
	response := s.authorise(t.to, lease.Event{Type: lease.Requested, Process: m.from.Name, From: m.from, Request: m.request})
	if response == nil || v.machine == nil || v.life != life {
		return
	}
	s.granted(g, m.from, &m.request, response)
	if s.chance(s.VoterDies) && response.Granted {
		if s.rng.IntN(2) == 0 {
			s.crash(t.to)
			return
		}
		defer s.crash(t.to)
	}
	s.requests++
	back := mail{from: g.self, response: *response, sequence: m.sequence}
	s.answer(t.to, t.from, &back)
}

// answer sends a response back over the requester's link.
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
	s.mailTo(responseTask, at, p, q, m)
	if s.chance(s.Duplicate) {
		s.mailTo(responseTask, at+1+Time(s.rng.Int64N(int64(Unit))), p, q, m)
	}
}

// responseArrives tells the requester what was decided.
func (s *Simulator) responseArrives(t *task) {
	m := s.office.take(t.timer)
	v := &s.nodes[t.to]
	if v.machine == nil || t.target != v.life || !s.passes(t.from, t.to) {
		return
	}
	s.tell(Learns, t.to, t.from, &m)
	s.authorise(t.to, lease.Event{Type: lease.Responded, Process: m.from.Name, From: m.from, Response: m.response})
}
