package election

// settling is the T after an announcement, in which messages may still come that were sent before
// it was known. While a large group makes its links, what was sent before a link opened comes late,
// too, so T is begun again.
type settling struct {
	*Machine

	recent bool // COORDINATOR was received or sent less than T ago, or T was begun again
	// the coordinator that another process contradicted within that T; empty: none did
	contested string
	again     int // how often T was begun again
}

// settle begins T.
func (s *settling) settle() {
	s.recent, s.contested = true, ""
	s.wait(AwaitStragglers, 1)
}

// contest reports whether what contradicts this process's view counts now: a COORDINATOR from
// below, or a VIEW. If the coordinator was announced less than T ago, it may have been sent before
// that, so an election is held when T is over. Two processes that each rank higher by their own
// rosters would otherwise answer each other at once, without end; and while a large group makes its
// links, each VIEW of before would begin an election.
func (s *settling) contest() (now bool) {
	if !s.recent && !s.resettle() {
		return true
	}
	s.contested = s.coordinator
	return false
}

// settled ends T, and reports whether an election is due: the coordinator that was contested is
// still this process's.
func (s *settling) settled() (due bool) {
	due = s.contested != "" && s.contested == s.coordinator
	if due && s.resettle() {
		return false
	}
	s.recent, s.contested = false, ""
	return due
}

// fewLinks is how many processes a group may have to make its links within T.
const fewLinks = 12

// forming reports whether links of a large group are being made. It is so for as many T as the group
// has processes at most.
func (s *settling) forming() bool {
	return len(s.roster) > fewLinks && s.again < len(s.roster) && s.linking()
}

// resettle begins T again while the group is forming.
func (s *settling) resettle() bool {
	if !s.forming() {
		return false
	}
	s.recent, s.again = true, s.again+1
	s.wait(AwaitStragglers, 1)
	return true
}
