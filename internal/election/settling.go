package election

import "slices"

// settling is the T after an announcement, in which messages may still come that were sent before
// it was known. While a large group makes its links, what was sent before a link opened comes
// later, and what contradicts the coordinator waits for longer. When that is over, whoever has
// contradicted it is asked whom it follows: most have heard the announcement since.
type settling struct {
	*Machine

	recent    bool     // COORDINATOR was received or sent less than T ago
	waits     bool     // AwaitStragglers runs
	contested ID       // the announcement that others have contradicted
	against   []string // who has, and is not known to have changed its mind
	waited    int      // how often it was too early to ask them when T was over
}

// settle begins T after an announcement.
func (s *settling) settle() {
	s.recent = true
	s.undisputed()
	s.awaitStragglers()
}

func (s *settling) awaitStragglers() {
	s.waits = true
	s.wait(AwaitStragglers, 1)
}

// contest takes that a process contradicts this one's view, by a COORDINATOR from below or by a
// VIEW, and reports whether that counts now. If the coordinator was announced less than T ago, it
// may have been sent before that, so the process is asked when T is over. Two processes that each
// rank higher by their own rosters would otherwise answer each other at once, without end; and
// while a large group makes its links, each VIEW of before would begin an election.
func (s *settling) contest(from Process) (now bool) {
	if from.Name == s.coordinator {
		return true
	}
	if !s.waits {
		if !s.forming() {
			return true
		}
		s.awaitStragglers()
	}
	if s.contested != s.decision {
		s.contested, s.against = s.decision, s.against[:0]
	}
	if !slices.Contains(s.against, from.Name) {
		s.against = append(s.against, from.Name)
	}
	return false
}

// agrees takes the answer of a process that it follows this one's coordinator. (Not a VIEW: one of
// before may come after a newer one, on another link. Nor an answer to a question of before.)
func (s *settling) agrees(from Process) {
	if !s.waits {
		s.against = without(s.against, from.Name)
	}
}

// undisputed forgets what has contradicted the coordinator.
func (s *settling) undisputed() { s.contested, s.against = ID{}, s.against[:0] }

// settled ends T.
func (s *settling) settled() {
	s.recent, s.waits = false, len(s.open()) > 0 && s.forming()
	if s.waits {
		s.waited++
		s.awaitStragglers()
	}
}

// doubters returns whom to ask.
func (s *settling) doubters() []string {
	if s.waits || s.electing {
		return nil
	}
	return s.open()
}

// open returns who contradicts the coordinator and can be asked. One that cannot be reached is
// asked when it can: it may have dropped this process's VIEW.
func (s *settling) open() []string {
	if len(s.against) == 0 || s.contested != s.decision || s.coordinator == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.against), func(name string) bool {
		p := s.peers[name]
		return p == nil || p.link == down
	})
}

// fewLinks is how many links may be missing in a group that does not count as forming; where a
// process does not link to everybody, a quarter of its links.
const fewLinks = 12

// forming reports whether this process makes its links to a large group. A process waits for that
// as many T as the group has processes, and no more in its life.
func (s *settling) forming() bool {
	if len(s.roster) <= fewLinks || s.waited >= len(s.roster) {
		return false
	}
	links, few := s.algorithm.links(), fewLinks
	if len(links) < len(s.roster)-1 {
		few = len(links) / 4
	}
	return s.unlinked(links) > few
}
