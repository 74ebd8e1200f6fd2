package lease

import "time"

// In what order the processes ask by C8: the eight highest, besides the leaseholder, as soon as
// they do not hear it, each further one 10 ms after the one before it. If, before its turn, a
// higher process asks this one, or the algorithm names another process, it leaves the question to
// that one. It asks itself L and T after its turn, if it has not heard a leaseholder by then.
//
// Where some have turns, those that ask at once keep links to all voters (the nine highest, of whom
// one may be the leaseholder): on a ring, a failover would begin with handshakes otherwise.

// The order in which processes ask (C8).
const (
	firstToAsk = 8
	// nextAsks is about how long it takes until one process has asked the others.
	nextAsks = 10 * time.Millisecond
)

// unheard suspects the leaseholder, which is not heard, if it is this process's turn to ask (C8).
func (m *Machine) unheard() {
	f := &m.follower
	if f.asksAt == 0 {
		turn := m.turn()
		f.asksAt, f.asksLatest = m.now.Boot+turn, m.now.Boot+m.roster.Lease+m.t+turn
	}
	f.suspects = f.suspects || m.now.Boot >= f.asksAt
	// its offer would keep this process from asking about it
	if s := &m.candidacy.preVote; f.suspects && s.purpose == transfer && s.about == f.leaseholder {
		s.purpose = noPreVote
	}
}

// turn is how long this process lets others ask first (C8).
func (m *Machine) turn() time.Duration {
	ahead := m.ahead(m.follower.leaseholder.Name)
	return time.Duration(max(ahead+1-firstToAsk, 0)) * nextAsks
}

// ahead returns how many processes ask before this one, if that one does not.
func (m *Machine) ahead(leaseholder string) (n int) {
	for _, q := range m.roster.Members {
		if q.Name != leaseholder && q.outranks(m.me) {
			n++
		}
	}
	return n
}

// asksFirst reports whether this process asks at once and others have turns, if one that outranks
// it held the lease.
func (m *Machine) asksFirst() bool {
	return len(m.roster.Members) > firstToAsk+1 && m.me.Name != "" && m.ahead("") <= firstToAsk
}

// waitsForTurn reports whether this process does not hear the leaseholder, and has yet to ask.
func (m *Machine) waitsForTurn() bool { return m.follower.asksAt != 0 && !m.follower.suspects }

// nominate takes the process that the algorithm names. It may be about to take the lease (C8).
func (m *Machine) nominate(name string) {
	m.nominated = name
	if name == "" || name == m.self.Name {
		return
	}
	f := &m.follower
	if m.waitsForTurn() && name != f.leaseholder.Name {
		f.asksAt, f.yields = f.asksLatest, true
	}
}

// asked notes that a process of the roster asks this voter for a pre-vote (C8).
func (m *Machine) asked(q Member) {
	if m.waitsForTurn() && q.outranks(m.me) {
		m.follower.asksAt = m.follower.asksLatest
	}
}
