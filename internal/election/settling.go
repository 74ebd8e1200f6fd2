package election

// settling is the T after an announcement, in which messages may still come that were sent before
// it was known.
type settling struct {
	*Machine

	recent bool // COORDINATOR was received or sent less than T ago
	// A COORDINATOR from below came less than T after this process's own. It is answered when T is
	// over: two processes that each rank higher by their own rosters would otherwise answer each
	// other at once, without end.
	contested bool
}

// settle begins T.
func (s *settling) settle() {
	s.recent, s.contested = true, false
	s.wait(AwaitStragglers, 1)
}

// contest reports whether this process answers a COORDINATOR from below now. If not, it does later.
func (s *settling) contest() (now bool) {
	s.contested = s.recent && s.coordinator == s.self.Name
	return !s.contested
}

// settled ends T, and reports whether this process has an answer left to give.
func (s *settling) settled() (due bool) {
	due = s.contested && s.coordinator == s.self.Name && s.candidate()
	s.recent, s.contested = false, false
	return due
}
