package lease

// Reach says which processes this one needs a link to, besides those that the election
// algorithm needs.
type Reach uint8

// No process, the voters, or every member.
const (
	Nobody Reach = iota
	Voters
	Everyone
)

// Reach returns which processes this one sends requests to, now or at any moment.
func (m *Machine) Reach() Reach {
	l := &m.leaseholder
	switch {
	case m.roster == nil:
		return Nobody
	case l.held != nil || l.sought != nil || l.steppingDown != nil || l.lapsed != nil:
		return Everyone
	case m.nominated == m.self.Name || m.candidacy.preVote.purpose != noPreVote ||
		m.follower.suspects || m.first:
		return Voters
	default:
		return Nobody
	}
}

// Links returns the names of those processes.
func (m *Machine) Links() (names []string) {
	reach := m.Reach()
	if reach == Nobody {
		return nil
	}
	for _, q := range m.roster.Members {
		if q.Name != m.self.Name && (reach == Everyone || q.Voter) {
			names = append(names, q.Name)
		}
	}
	return names
}
