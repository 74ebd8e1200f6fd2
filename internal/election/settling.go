package election

// settling is the T after an announcement, in which messages may still come that were sent before
// it was known. While a large group makes its links, what was sent before a link opened comes
// later, and what contradicts the coordinator waits for longer.
type settling struct {
	*Machine

	recent bool // COORDINATOR was received or sent less than T ago
	// the coordinator that others have contradicted since; they are answered when AwaitStragglers is
	// over; empty: nobody has
	contested string
	waited    int // how often it was then too early to answer
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
	switch {
	case s.recent, s.contested != "":
	case s.forming():
		s.wait(AwaitStragglers, 1)
	default:
		return true
	}
	s.contested = s.coordinator
	return false
}

// settled ends T, and reports whether an election is due: the coordinator that was contested is
// still this process's, and it is not the lease that says so (F5).
func (s *settling) settled() (due bool) {
	s.recent = false
	due = s.contested != "" && s.contested == s.coordinator && !s.led
	if due && s.forming() {
		s.waited++
		s.wait(AwaitStragglers, 1)
		return false
	}
	s.contested = ""
	return due
}

// fewLinks is how many links may be missing in a group that does not count as forming.
const fewLinks = 12

// forming reports whether this process makes its links to a large group. A process waits for that
// as many T as the group has processes, and no more in its life.
func (s *settling) forming() bool {
	return s.waited < len(s.roster) && s.unlinked() > fewLinks
}
