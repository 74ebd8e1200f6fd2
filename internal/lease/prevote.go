package lease

import "slices"

// C1. A candidate that the election algorithm nominates, and that holds no lease, sends a PREVOTE
// to all voters. It asks those that would not promise, or have not answered, again every heartbeat:
// promises run out, a voter notices that a leaseholder is gone. One that has not answered, or that
// is free by now as its last answer says, is asked again at once when the link to it opens.

// purpose is why a process asks the voters for pre-votes.
type purpose uint8

const (
	noPreVote  purpose = iota
	nomination         // it is nominated (C1)
	suspicion          // it suspects the leaseholder (C8)
	fallback           // nobody has held the lease for long (C9)
	transfer           // the leaseholder offers it the lease (PR3)
)

// preVote is a round of pre-votes. Slices are indexed as the roster's members.
type preVote struct {
	purpose   purpose
	about     Incarnation // the leaseholder that is suspected, or that offers its lease
	epoch     Epoch       // of that leaseholder
	round     uint64
	since     Instant
	askedAt   Instant // when the PREVOTE was last sent
	repeatAt  Instant // when it is sent again to those that have not answered
	responses []Response
	answered  []bool
	bound     []Instant // until when, by its answer, a promise binds each; 0: none does
	late      bool      // it has failed, and who has not answered may bring the next one forward (C4)
}

// wantsLease reports whether a majority would lead to an attempt to get the lease.
func (s *preVote) wantsLease() bool { return s.purpose == nomination || s.purpose == fallback }

// startPreVote asks every voter whether it would vote for this process.
func (m *Machine) startPreVote(why purpose, about Incarnation, epoch Epoch) {
	m.round++
	n := len(m.roster.Members)
	s := &m.candidacy.preVote
	*s = preVote{
		purpose:   why,
		about:     about,
		epoch:     epoch,
		round:     m.round,
		since:     m.now.Boot,
		responses: append(s.responses[:0], make([]Response, n)...),
		answered:  append(s.answered[:0], make([]bool, n)...),
		bound:     append(s.bound[:0], make([]Instant, n)...),
	}
	m.sendPreVotes()
	m.evaluatePreVote()
}

// continuePreVote asks again when that is due (C1).
func (m *Machine) continuePreVote() {
	if m.now.Boot >= m.asksAgainAt() {
		m.sendPreVotes()
	}
	m.evaluatePreVote()
}

// sendPreVotes asks the voters that would not promise, or have not answered (C1).
func (m *Machine) sendPreVotes() {
	s := &m.candidacy.preVote
	s.askedAt = m.now.Boot
	unanswered := m.now.Boot >= s.repeatAt
	if unanswered {
		s.repeatAt = m.now.Boot + m.heartbeat
	}
	p := m.preVoteRequest()
	for i, q := range m.roster.Members {
		switch {
		case !q.Voter || s.responses[i].Granted:
		case q.Name == m.self.Name:
			would := m.voter.wouldPromise(m.roster, m.self, m.roster.Generation, m.now.Boot) &&
				!m.disk.failed()
			s.take(i, m.response(p, would), m.now.Boot)
			s.answered[i] = m.voter.votes
		case unanswered || s.answered[i]:
			m.send(q.Name, p)
		}
	}
}

func (m *Machine) preVoteRequest() Request {
	return Request{
		Kind:  PreVote,
		Epoch: NewEpoch(m.roster.Generation, 0),
		Round: m.candidacy.preVote.round,
	}
}

// linkUp asks a voter that has not answered, or whose last answer says that it is free by now: what
// was sent before the link opened may be lost (C1).
func (m *Machine) linkUp(name string) {
	s := &m.candidacy.preVote
	if m.roster == nil || s.purpose == noPreVote && !s.late {
		return
	}
	for i, q := range m.roster.Members {
		again := !s.responses[i].Granted && s.bound[i] > 0 && s.bound[i] <= m.now.Boot
		if q.Name == name && q.Voter && (!s.answered[i] || again) {
			m.send(name, m.preVoteRequest())
		}
	}
}

// preVoted takes a voter's answer.
func (m *Machine) preVoted(from Incarnation, v Response) {
	s := &m.candidacy.preVote
	i := m.roster.indexOf(from)
	if s.purpose == noPreVote && !s.late || v.Round != s.round || i < 0 || !m.roster.Members[i].Voter {
		return
	}
	if s.late {
		m.answeredLate(i, v)
		return
	}
	s.take(i, v, s.askedAt)
}

// take takes the answer of a voter that was asked then.
func (s *preVote) take(i int, v Response, askedAt Instant) {
	s.responses[i], s.answered[i], s.bound[i] = v, true, 0
	if v.Remaining > 0 {
		s.bound[i] = askedAt + v.Remaining
	}
}

// answeredLate takes the answer of a voter to a pre-vote that has failed: the next one may begin
// sooner (C4).
func (m *Machine) answeredLate(i int, v Response) {
	s := &m.candidacy.preVote
	s.take(i, v, m.now.Boot) // it may have been asked later than the others
	s.late = s.awaits(m.roster)
	if again, runOut := m.whenPromisesHaveRunOut(); runOut {
		m.candidacy.retryAt = min(m.candidacy.retryAt, again)
	}
}

// evaluatePreVote decides what the answers so far amount to.
func (m *Machine) evaluatePreVote() {
	c, s := &m.candidacy, &m.candidacy.preVote
	all, majority := m.roster.voters(), m.roster.majority()
	answered, granted, heard, support := s.count(m.self.Name, m.follower.ended)
	unheard := answered - heard
	over := m.now.Boot-s.since >= max(m.t, m.roster.Timeout) || answered == all
	impossible := over || answered >= majority && answered-granted > all-majority
	switch {
	case s.wantsLease() && granted >= majority: // C3
		s.purpose = noPreVote
		if m.isCandidate() { // it may have withdrawn since it asked
			m.seek(s.ballot(m.roster.Generation, majority), s.support())
		}
	case s.purpose == transfer && support >= majority: // PR3
		s.purpose = noPreVote
		m.send(s.about.Name, Request{
			Kind:  TakeOver,
			Epoch: s.epoch,
			Round: s.round,
		})
	case s.purpose == suspicion && unheard >= majority: // C8
		s.purpose = noPreVote
		m.leaseholderLost()
	case heard > all-majority, // C2, C8
		(over || s.undecidable(all, majority, answered, unheard)) && heard > 0 && unheard < majority:
		m.followHearsay()
	case s.wantsLease() && impossible:
		m.preVoteFailed(answered >= majority)
	case over: // C8, PR3
		s.purpose = noPreVote
		c.noMajority, c.retryAt = answered < majority, m.now.Boot+m.t/2+m.random(m.t)
	}
}

// count counts the answers: all of them, those that would promise, those that hear a leaseholder
// (whose lease has not ended), and those that would promise if the leaseholder in question
// released.
func (s *preVote) count(self string, ended ending) (answered, granted, heard, support int) {
	for i, v := range s.responses {
		if !s.answered[i] {
			continue
		}
		answered++
		if v.Granted {
			granted++
		}
		if v.Heard && v.Holder != self && !ended.includes(v.Holder, v.HolderEpoch) &&
			(s.purpose != transfer || v.Holder != s.about.Name) {
			heard++
		}
		released := v.Holder == s.about.Name && v.HolderEpoch == s.epoch
		if v.Granted || v.Generation == v.Epoch.Generation() && released {
			support++
		}
	}
	return answered, granted, heard, support
}

// awaits reports whether a voter has not answered.
func (s *preVote) awaits(r *Roster) bool {
	for i, q := range r.Members {
		if q.Voter && !s.answered[i] {
			return true
		}
	}
	return false
}

// AppendUnheard appends the voters that have not answered the last pre-vote, and reports whether
// that is over and found no majority. It is for the view only.
func (m *Machine) AppendUnheard(to []string) (names []string, over bool) {
	c := &m.candidacy
	if !c.noMajority || c.preVote.purpose != noPreVote || c.preVote.since < c.rosterAt ||
		len(c.preVote.answered) != len(m.roster.Members) { // the last one was of another roster
		return to, false
	}
	for i, q := range m.roster.Members {
		if q.Voter && !c.preVote.answered[i] {
			to = append(to, q.Name)
		}
	}
	return to, true
}

// support is which voters would promise.
func (s *preVote) support() []bool {
	all := make([]bool, len(s.responses))
	for i, v := range s.responses {
		all[i] = s.answered[i] && v.Granted
	}
	return all
}

// ballot returns the ballot to ask votes for (C3).
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
	if majority > 1 { // if the highest is true after all, the next attempt gets closer to it
		highest = min(highest, ballots[majority-2]+maxBallotLead)
	}
	return highest + 1
}
