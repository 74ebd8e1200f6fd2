package election

import "slices"

// settling is the T after an announcement of a bully. Messages that were sent before the
// announcement may still arrive in it. When T is over, the driver asks the processes that have
// contradicted the coordinator (Doubters); most of them have heard the announcement by then. A ring
// does not settle: its elections cost few messages, and it holds one at once.
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

// contest takes a message that contradicts this process's view, a COORDINATOR from below or a VIEW,
// and reports whether it counts now. Less than T after an announcement it does not, because it may
// be older; its sender is asked when T is over. Otherwise two processes that each rank higher by
// their own rosters would answer each other at once, without end.
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

// Doubters returns the names of the processes that the driver asks whom they follow. They have
// contradicted this process, and may have changed their minds. Their answers are events of type
// Answered, and their silence means nothing. A process whose link is down is asked when the link is
// up again: it may have dropped this process's VIEW.
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
