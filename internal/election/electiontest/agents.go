package electiontest

import (
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
)

// What stands for internal/agent, internal/transport and internal/detector in a simulation: links that open, break and are
// made again, and a failure detector that asks those whom the machine watches. Questions and answers take no time here, and
// only their outcome is simulated.

// heartbeat is the time between two questions, and between two attempts to make a link. stagger is what the detector waits
// for each live candidate above its process.
const (
	heartbeat = T / 2
	stagger   = Unit / 10
	patient   = 8 * T // after which a silent link is given up
)

// agent is what drives a process.
type agent struct {
	up          bool   // the pod runs
	uid         int    // of the pod
	generation  int    // of the roster in use
	followed    Time   // when the process began to follow its coordinator
	suspectAt   Time   // when the coordinator is to be suspected; 0: not
	suspected   string // the coordinator that this is about
	coordinator string // that the detector watches
	ill         bool   // the app
	leaving     bool
	gone        bool // the pod has ended for good
	stranded    Time // it does not reach the managers until then
}

// pair is what one process has to do with another, and the way from the one to the other.
type pair struct {
	link             linkState
	wanted           bool   // the machine wants a link
	watched, before  bool   // the machine wants to know when the other fails; it wanted before
	silent           bool   // it has not answered for T though the link is open
	unheard          bool   // likewise, as the detector knows it
	life             uint64 // of the other when the link opened
	opens            Time   // when the attempt to make the link ends
	asked            Time   // when the other last answered, or was first asked
	breaks           Time   // when it will be seen that a message was lost; 0: nothing was lost
	cut, clogged     Time   // until when nothing passes, or what passes is held back
	last             Time   // when the newest message arrives, for order
	heard, heardLife uint64 // newest life heard of, in that life of the hearer
	back             Time   // when the newest response arrives that comes back on this link, for order
}

type linkState uint8

const (
	none linkState = iota
	making
	open
	shut
)

// enter lets a process take part, with the roster that its agent knows.
func (s *Simulator) enter(p int32, coordinator string) {
	a := &s.agents[p]
	r := s.rosters[a.generation]
	if !s.lists(r, p) || !a.up {
		return
	}
	config := election.Config{Algorithm: r.algorithm, Roster: r.processes, Coordinator: coordinator}
	if err := s.boot(p, config); err != nil {
		s.fail("a process on the roster cannot take part: %v", err)
		return
	}
	s.note(Starts, p, -1, "")
	a.followed, a.suspectAt, a.ill, a.leaving = s.now, 0, false, false
	for q := range int32(len(s.nodes)) {
		r := s.pair(p, q)
		*r = pair{cut: r.cut, clogged: r.clogged, last: r.last}
	}
	if s.Guarded {
		s.guards[p].arm()
		if s.nodes[p].machine == nil {
			return
		}
	}
	s.rewire(p)
	if coordinator == "" {
		s.step(p, election.Event{Type: election.Start})
	}
}

// exit ends a process's part, and with it its links.
func (s *Simulator) exit(p int32) {
	if s.nodes[p].machine == nil {
		return
	}
	s.kill(p)
	s.note(HasFailed, p, -1, "")
	for q := range int32(len(s.nodes)) {
		s.pair(p, q).link = none
		s.pair(p, q).wanted = false
		if s.pair(q, p).link == open {
			t := s.plan(s.now+1+Time(s.rng.Int64N(int64(Unit))), looks, noticeTask, q)
			t.from, t.life = p, s.nodes[q].life
		}
		if s.Guarded && s.nodes[q].machine != nil {
			t := s.plan(s.now+1+Time(s.rng.Int64N(int64(Unit))), looks, closedTask, q)
			t.from, t.life = p, s.nodes[q].life
		}
	}
}

// lists reports whether a roster has this very pod.
func (s *Simulator) lists(r roster, p int32) bool {
	for _, q := range r.processes {
		if q.Name == s.nodes[p].name {
			return q.UID == uids[s.agents[p].uid]
		}
	}
	return false
}

// admits reports whether process p accepts what q says.
func (s *Simulator) admits(p, q int32) bool { return s.lists(s.rosters[s.agents[p].generation], q) }

// passes reports whether anything gets from p to q.
func (s *Simulator) passes(p, q int32) bool { return s.now >= s.pair(p, q).cut }

// reaches reports whether the two can talk, if both are there.
func (s *Simulator) reaches(p, q int32) bool { return s.passes(p, q) && s.passes(q, p) }

// rewire takes over whom the machine wants links to, and whom it watches. A link that is wanted no more ends, unless its
// process is silent: that one is asked on.
func (s *Simulator) rewire(p int32) {
	m := s.nodes[p].machine
	if m == nil {
		return
	}
	a, coordinator, n := &s.agents[p], m.State().Coordinator, int32(len(s.nodes))
	row := s.pairs[p*n : (p+1)*n]
	for q := range row {
		row[q].wanted, row[q].before, row[q].watched = row[q].silent, row[q].watched, row[q].silent
	}
	for _, name := range m.Links() {
		row[s.places[name]].wanted = true
	}
	if s.Guarded {
		for _, name := range s.guards[p].lease.Links() {
			row[s.places[name]].wanted = true
		}
	}
	for _, name := range m.Watched() {
		row[s.places[name]].watched = true
	}
	for q := range row {
		r := &row[q]
		if r.watched && (!r.before || a.coordinator != coordinator && coordinator == s.nodes[q].name) {
			r.unheard, r.asked = false, s.now
		}
		switch {
		case q == int(p):
		case r.wanted && r.link == none:
			r.link, r.opens = making, s.now+1+Time(s.rng.Int64N(int64(Unit)))
			r.asked = s.now
		case !r.wanted && r.link != none:
			unlinked := r.link == open
			*r = pair{cut: r.cut, clogged: r.clogged, last: r.last, heard: r.heard, heardLife: r.heardLife}
			if unlinked {
				s.step(p, election.Event{Type: election.PeerUnlinked, Process: s.nodes[q].name})
			}
		}
	}
	a.coordinator = coordinator
}

// tick is the agent's periodic work: to make links and see them broken, to ask, and to suspect.
func (s *Simulator) tick(p int32) {
	s.plan(s.now+heartbeat, looks, tickTask, p)
	if s.Guarded {
		s.report(p)
	}
	for q := range int32(len(s.nodes)) {
		if s.nodes[p].machine == nil {
			return
		}
		r := s.pair(p, q)
		if r.wanted {
			s.tend(p, q, r)
		}
		if s.nodes[p].machine != nil && r.watched && q != p {
			s.ask(p, q, r)
		}
	}
}

// tend sees to the link from p to q.
func (s *Simulator) tend(p, q int32, r *pair) {
	there := s.nodes[q].machine != nil && s.admits(q, p) && s.now >= s.nodes[q].awake
	switch {
	case r.link == open && s.nodes[q].machine != nil && s.nodes[q].life != r.life, // another life now
		r.link == open && s.nodes[q].machine == nil && s.reaches(p, q), // closed by its kernel
		r.link == open && r.breaks > 0 && s.now >= r.breaks,
		r.link == open && s.now-r.asked >= patient && r.watched,
		r.link == open && !s.admits(q, p):
		s.lost(p, q, r)
	case r.link == making && s.now >= r.opens || r.link == shut:
		if s.reaches(p, q) && there {
			s.opened(p, q, r)
		} else if r.link == making {
			s.lost(p, q, r)
		}
	}
}

func (s *Simulator) opened(p, q int32, r *pair) {
	r.link, r.life, r.silent, r.breaks = open, s.nodes[q].life, false, 0
	if r.watched {
		r.asked = s.now
	}
	s.note(LinkUp, p, q, "")
	s.trust(p, q)
	s.step(p, election.Event{Type: election.PeerUp, Process: s.nodes[q].name})
}

// lost: the link is down, and that is evidence.
func (s *Simulator) lost(p, q int32, r *pair) {
	r.link, r.silent, r.breaks = shut, false, 0
	s.note(LinkDown, p, q, "")
	s.step(p, election.Event{Type: election.PeerDown, Process: s.nodes[q].name})
	if s.Guarded && s.nodes[p].machine != nil {
		s.authorise(p, lease.Event{Type: lease.LinkDown, Process: s.nodes[q].name})
	}
	s.distrust(p, q)
}

// ask asks a process whether it is there and whom it follows.
func (s *Simulator) ask(p, q int32, r *pair) {
	other := &s.nodes[q]
	answers := r.link == open && other.machine != nil && other.life == r.life && s.reaches(p, q) && s.now >= other.awake &&
		s.now >= r.clogged && s.now >= s.pair(q, p).clogged
	switch {
	case answers:
		r.asked, r.unheard = s.now, false
		if r.silent {
			s.opened(p, q, r)
		}
		s.answered(p, q)
	case s.now-r.asked >= T && !r.unheard:
		r.unheard, r.silent = true, true
		s.note(LinkDown, p, q, "silent")
		coordinator := s.nodes[p].machine.State().Coordinator == other.name
		s.step(p, election.Event{Type: election.PeerDown, Process: other.name})
		if coordinator && s.nodes[p].machine != nil {
			s.suspect(p, other.name)
		}
	}
}

// answered: a coordinator that says it is none is as good as gone; what any other process says is a view.
func (s *Simulator) answered(p, q int32) {
	m, theirs := s.nodes[p].machine, s.nodes[q].machine.State().Coordinator
	if m == nil {
		return
	}
	if theirs == s.nodes[q].name {
		s.trust(p, q)
	}
	mine := m.State().Coordinator
	if s.now <= s.agents[p].followed || theirs == mine {
		return
	}
	if theirs != s.nodes[q].name {
		s.distrust(p, q)
	}
	s.step(p, election.Event{Type: election.Answered, Process: s.nodes[q].name, Message: election.Message{Process: theirs}})
}

// distrust notes evidence against the coordinator; each live candidate in between waits a little longer (hazard B11).
func (s *Simulator) distrust(p, q int32) {
	m, a := s.nodes[p].machine, &s.agents[p]
	if m == nil || m.State().Coordinator != s.nodes[q].name || a.suspectAt != 0 && a.suspected == s.nodes[q].name {
		return
	}
	a.suspected = s.nodes[q].name
	a.suspectAt = s.now + 1 + min(Time(m.Rank())*stagger, T)
	t := s.plan(a.suspectAt, looks, doubtTask, p)
	t.life, t.sequence = s.nodes[p].life, int(a.suspectAt)
}

func (s *Simulator) trust(p, q int32) {
	if a := &s.agents[p]; a.suspected == s.nodes[q].name {
		a.suspectAt = 0
	}
}

// doubt suspects the coordinator, and again later, should the election come to nothing.
func (s *Simulator) doubt(t *task) {
	v, a := &s.nodes[t.to], &s.agents[t.to]
	if v.machine == nil || v.life != t.life || a.suspectAt != Time(t.sequence) {
		return
	}
	if v.machine.State().Coordinator != a.suspected {
		a.suspectAt = 0
		return
	}
	a.suspectAt = s.now + T
	again := s.plan(a.suspectAt, looks, doubtTask, t.to)
	again.life, again.sequence = v.life, int(a.suspectAt)
	s.suspect(t.to, a.suspected)
}

func (s *Simulator) suspect(p int32, coordinator string) {
	s.note(Suspects, p, s.places[coordinator], "")
	if s.Guarded {
		s.authorise(p, lease.Event{Type: lease.Suspected, Process: coordinator})
		return
	}
	s.step(p, election.Event{Type: election.Suspect, Process: coordinator})
}

// notice: a kernel closed the link to a process that ended.
func (s *Simulator) notice(t *task) {
	r := s.pair(t.to, t.from)
	ended := s.nodes[t.from].machine == nil || s.nodes[t.from].life != r.life
	if s.nodes[t.to].machine != nil && s.nodes[t.to].life == t.life && r.link == open && ended && s.reaches(t.to, t.from) {
		s.lost(t.to, t.from, r)
	}
}
