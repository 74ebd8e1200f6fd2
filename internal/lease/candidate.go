package lease

import (
	"cmp"
	"slices"
	"time"
)

// purpose is what a process asks for pre-votes the voters for.
type purpose uint8

const (
	idle     purpose = iota
	stand            // C1: it is nominated
	consult          // C8: it suspects the holder
	fallback         // C9: nobody has held for long
	succeed          // P3: the holder offers it the lease
)

// candidate is what a process does to become the holder.
type candidacy struct {
	preVote  preVote
	retry    Instant // not before
	failures int     // preVotes in a row that found no majority
	rests    Instant // C5: until when it is no candidate
	fallback Instant // C9: when it nominates itself, if nobody has held until then
	waiting  bool    // C4: for promises that nobody hears to run out
	freed    Instant // when promises were last released
	spent    bool    // the ballots of this generation are used up
	alone    bool    // the last preVote found no majority
}

// preVote is a round of pre-votes.
type preVote struct {
	purpose   purpose
	about     Incarnation // the holder that is suspected, or that offers
	epoch     Epoch
	round     uint64
	since     Instant
	asked     Instant    // when those who would not promise, or have not answered, were asked last
	responses []Response // by place on the roster
	answered  []bool
}

// Rests reports whether this process has withdrawn because it reaches no majority (C5).
func (m *Machine) Rests() bool { return m.now.Boot < m.candidacy.rests }

// reassured forgets what went wrong: somebody holds.
func (n *candidacy) reassured() { n.failures, n.waiting, n.alone = 0, false, false }

// nominate drives whatever this process does to become the holder.
func (m *Machine) nominate() {
	n := &m.candidacy
	if n.preVote.purpose != idle {
		if m.now.Boot >= n.preVote.asked+m.pause() {
			m.ask()
		}
		m.weigh()
		return
	}
	if m.leaseholder.held != nil || m.leaseholder.sought != nil || m.leaseholder.stepping != nil || m.roster.voters() == 0 || m.now.Boot < n.retry {
		return
	}
	switch {
	case !m.isCandidate():
	case m.nominated == m.self.Name && !m.hearing():
		m.askPreVotes(stand, Incarnation{}, 0)
	case m.now.Boot >= n.fallback && m.leaderless():
		m.askPreVotes(fallback, Incarnation{}, 0)
	}
	if m.follower.consult && m.follower.known.Name != "" && n.preVote.purpose == idle {
		m.askPreVotes(consult, m.follower.known, m.follower.epoch)
	}
}

// askPreVotes asks every voter whether it would promise (C1, C8, C9, P3).
func (m *Machine) askPreVotes(why purpose, about Incarnation, epoch Epoch) {
	m.round++
	s := &m.candidacy.preVote
	*s = preVote{purpose: why, about: about, epoch: epoch, round: m.round, since: m.now.Boot,
		responses: append(s.responses[:0], make([]Response, len(m.roster.Members))...),
		answered:  append(s.answered[:0], make([]bool, len(m.roster.Members))...)}
	m.ask()
	m.weigh()
}

// ask asks for pre-votes those who would not promise or have not answered: again every heartbeat, for promises run out, a voter notices that
// the holder is gone, and a link may have to be made first.
func (m *Machine) ask() {
	s := &m.candidacy.preVote
	s.asked = m.now.Boot
	p := Request{Kind: PreVote, Epoch: NewEpoch(m.roster.Generation, 0), Round: s.round}
	for i, q := range m.roster.Members {
		switch {
		case !q.Voter || s.responses[i].Granted:
		case q.Name == m.self.Name:
			s.answered[i] = m.voter.seated
			s.responses[i] = m.response(p, m.voter.would(m.roster, m.self, m.roster.Generation, m.now.Boot))
		default:
			m.send(q.Name, p)
		}
	}
}

// pause is how long those who would not promise are left alone before they are asked again.
func (m *Machine) pause() time.Duration {
	if m.freed() {
		return m.heartbeat / 10
	}
	return m.heartbeat
}

// freed reports whether promises were released just now: the voters that have not heard of it will in a moment (C4).
func (m *Machine) freed() bool { return m.now.Boot-m.candidacy.freed < m.t }

// preVoted takes a voter's answer. A voter with another memory than the roster's is not the one that counts (V1).
func (m *Machine) preVoted(from Incarnation, v Response) {
	s := &m.candidacy.preVote
	i := m.roster.place(from)
	if s.purpose == idle || v.Round != s.round || i < 0 || !m.roster.Members[i].Voter {
		return
	}
	s.responses[i], s.answered[i] = v, true
}

// weigh looks what the answers so far come to.
func (m *Machine) weigh() {
	n, s := &m.candidacy, &m.candidacy.preVote
	all, majority := m.roster.voters(), m.roster.majority()
	patience := max(m.t, m.roster.Timeout)
	answered, granted, heard, support := s.count(m.self.Name, m.follower.over)
	over := m.now.Boot-s.since >= patience || answered == all
	hopeless := over || answered >= majority && answered-granted > all-majority // no majority will grant it
	stands := s.purpose == stand || s.purpose == fallback
	switch {
	case stands && granted >= majority: // C3
		s.purpose = idle
		m.seek(s.ballot(m.roster.Generation, majority))
	case s.purpose == succeed && support >= majority: // P3
		s.purpose = idle
		m.send(s.about.Name, Request{Kind: TakeOver, Epoch: s.epoch, Round: s.round})
	case s.purpose == consult && answered-heard >= majority: // C8: they do not hear it either
		s.purpose = idle
		m.lost()
	case heard > all-majority, (over || s.stuck(all, majority, answered-heard)) && heard > 0 && answered-heard < majority: // C2, C8
		m.hearsay()
	case stands && hopeless:
		m.unsupported(answered >= majority)
	case over: // C8, P3
		s.purpose = idle
		n.alone, n.retry = answered < majority, m.now.Boot+m.t/2+m.random(m.t)
	}
}

// count counts the answers: in all, those that would promise, those that hear a holder, and those that would promise if only
// the holder that this preVote is about released.
func (s *preVote) count(self string, over Epoch) (answered, granted, heard, support int) {
	for i, v := range s.responses {
		if !s.answered[i] {
			continue
		}
		answered++
		if v.Granted {
			granted++
		}
		if v.Heard && v.Holder != self && v.HolderEpoch > over && (s.purpose != succeed || v.Holder != s.about.Name) {
			heard++
		}
		if v.Granted || v.Generation == v.Epoch.Generation() && v.Holder == s.about.Name && v.HolderEpoch == s.epoch {
			support++
		}
	}
	return answered, granted, heard, support
}

// stuck reports whether a consulting process need not wait for more answers: the suspect itself will hardly answer.
func (s *preVote) stuck(all, majority, unheard int) bool {
	for _, a := range s.answered {
		if a {
			all--
		}
	}
	return s.purpose == consult && unheard+all-1 < majority
}

// ballot is C3: one above the smallest number such that a majority of those who would promise have promised no higher ballot.
func (s *preVote) ballot(generation int64, majority int) int64 {
	var ballots []int64
	for i, v := range s.responses {
		switch {
		case !s.answered[i] || !v.Granted:
		case v.Highest.Generation() == generation:
			ballots = append(ballots, v.Highest.Ballot())
		default:
			ballots = append(ballots, 0)
		}
	}
	slices.Sort(ballots)
	highest := ballots[majority-1]
	if majority > 1 { // it may be one that lies; if it does not, the next try gets nearer
		highest = min(highest, ballots[majority-2]+ahead)
	}
	return highest + 1
}

// hearsay follows whom the voters hear (C2, C8): the newest that no mere minority can have made up, and asks again after a while.
func (m *Machine) hearsay() {
	s := &m.candidacy.preVote
	var heard []Response
	for i, v := range s.responses {
		if s.answered[i] && v.Heard && v.Holder != m.self.Name && v.HolderEpoch > m.follower.over {
			heard = append(heard, v)
		}
	}
	slices.SortFunc(heard, func(a, b Response) int { return cmp.Compare(b.HolderEpoch, a.HolderEpoch) })
	believed := heard[min(len(heard)-1, m.roster.voters()-m.roster.majority())] // a minority that lies is passed over
	s.purpose = idle
	m.candidacy.reassured()
	m.candidacy.retry = m.now.Boot + m.t/2 + m.random(m.t)
	m.arm()
	m.believe(believed)
}

// unsupported ends a preVote that brought neither a majority nor a holder: C4, C5, and for a fallback C9 anew.
func (m *Machine) unsupported(reached bool) {
	n, s := &m.candidacy, &m.candidacy.preVote
	n.alone = !reached
	switch {
	case s.purpose == fallback && !reached:
		m.arm()
	case reached && m.freed(): // C4
		n.failures, n.waiting = 0, true
		n.retry = m.now.Boot + m.pause()
	case reached: // C4
		n.failures, n.waiting = 0, true
		wait := min(s.wait(m.roster.majority()), max(m.t, m.heartbeat))
		if wait == 0 { // it was denied for another reason than time: rosters may differ
			wait = m.t/2 + m.random(m.t)
		}
		n.retry = max(s.asked+wait, m.now.Boot) + time.Millisecond
	case n.failures+1 < preVotes:
		n.failures++
		n.retry = m.now.Boot + m.random(m.t)
	default: // C5
		n.failures = 0
		m.rest()
	}
	s.purpose = idle
}

// rest withdraws this process for a while, so that another one is nominated: C5, LH4.
func (m *Machine) rest() {
	if m.roster.rivals(m.self.Name) {
		m.candidacy.rests = m.now.Boot + restLeast*m.t + m.random(restMore*m.t)
		m.candidacy.retry = m.candidacy.rests
	} else {
		m.candidacy.retry = m.now.Boot + m.t
	}
}

// wait is how long it takes until a majority of promises has run out.
func (s *preVote) wait(majority int) time.Duration {
	var waits []time.Duration
	for i, v := range s.responses {
		if s.answered[i] {
			waits = append(waits, v.Remaining)
		}
	}
	slices.Sort(waits)
	return waits[majority-1]
}

// leaderless reports whether this process knows of nobody who holds.
func (m *Machine) leaderless() bool { return m.follower.known.Name == "" && m.leaseholder.held == nil }

// arm sets when this process nominates itself, should nobody hold until then (C9).
func (m *Machine) arm() {
	lease := time.Duration(0)
	if m.roster != nil {
		lease = m.roster.Lease
	}
	m.candidacy.fallback = m.now.Boot + lease + fallbackLeast*m.t + m.random(fallbackMore*m.t)
}

// place is where a voter's life stands on the roster; -1 if its memory is not the one that the roster names.
func (r *Roster) place(l Incarnation) int {
	return slices.IndexFunc(r.Members, func(q Member) bool {
		return q.Name == l.Name && q.UID == l.UID && (q.StateID == l.StateID || q.StateID == "")
	})
}
