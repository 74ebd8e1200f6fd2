package election

import "slices"

// settling is the T after an announcement of a bully, in which messages may still come that were
// sent before it was known. When T is over, whoever has contradicted the coordinator is asked whom
// it follows: most have heard the announcement since. On a ring no T follows an announcement: an
// election costs a few messages a process, and is held at once.
type settling struct {
	recent    bool     // COORDINATOR was received or sent less than T ago
	contested ID       // the announcement that others have contradicted
	against   []string // who has, and is not known to have changed its mind
}

// settle begins T after an announcement.
func (m *Machine) settle() {
	m.settling.recent = true
	m.undisputed()
	m.wait(AwaitStragglers, 1)
}

// contest takes that a process contradicts this one's view, by a COORDINATOR from below or by a
// VIEW, and reports whether that counts now. If the coordinator was announced less than T ago, it
// may have been sent before that, so the process is asked when T is over. Two processes that each
// rank higher by their own rosters would otherwise answer each other at once, without end.
func (m *Machine) contest(from Process) (now bool) {
	s := &m.settling
	if from.Name == m.coordinator || !s.recent {
		return true
	}
	if s.contested != m.decision {
		s.contested, s.against = m.decision, s.against[:0]
	}
	if !slices.Contains(s.against, from.Name) {
		s.against = append(s.against, from.Name)
	}
	return false
}

// agrees takes the answer of a process that it follows this one's coordinator. (Not a VIEW: one of
// before may come after a newer one, on another link. Nor an answer to a question of before.)
func (m *Machine) agrees(from Process) {
	if s := &m.settling; !s.recent {
		s.against = without(s.against, from.Name)
	}
}

// undisputed forgets what has contradicted the coordinator.
func (m *Machine) undisputed() {
	m.settling.contested, m.settling.against = ID{}, m.settling.against[:0]
}

// Doubters returns the names of the processes that are to be asked whom they follow: they have
// contradicted this process, and may have changed their minds. What they say is Answered; that they
// do not answer means nothing. One that cannot be reached is asked when it can: it may have dropped
// this process's VIEW.
func (m *Machine) Doubters() []string {
	s := &m.settling
	if s.recent || m.electing || len(s.against) == 0 || s.contested != m.decision ||
		m.coordinator == "" {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.against), func(name string) bool {
		p := m.peers[name]
		return p == nil || p.link == down
	})
}
