package election

import "slices"

// One rule lives outside all algorithms: processes that hear of two coordinators hold an election. That is how healed
// partitions merge. A process tells its view when a link opens, and a new coordinator tells it to the processes above it
// that are there against its belief. VIEWs are counted apart from an election's messages.

func (m *Machine) tellView(name string) {
	if p, ok := m.peers[name]; !ok || p.link != up || m.electing || m.coordinator == "" {
		return
	}
	m.out.Messages = append(m.out.Messages, Envelope{To: name, Message: Message{Kind: View, Election: m.decision, Process: m.coordinator}})
}

// lost reports whether this process's own link to q is down. That q is believed to have failed for other reasons, or was
// once out of reach, says little against one who follows it now.
func (m *Machine) lost(q Process) bool {
	return q.Name != m.self.Name && m.peers[q.Name].link == down && slices.Contains(m.Links(), q.Name)
}

// hearView compares the view of another process with this one's. A process that elects has no view. A view that names a
// process whose link is down, or this very process, is old: its owner will find out by asking. A coordinator that
// names somebody else is none.
func (m *Machine) hearView(from Process, msg Message) {
	theirs, known := m.find(msg.Process)
	if from == theirs { // who coordinates is well
		m.peers[from.Name].withdrawn = false
	}
	switch {
	case !known || theirs.Name == m.coordinator:
	case !m.candidate() && from == theirs && theirs.Priority > 0 && (m.electing || m.coordinator == ""):
		m.follow(theirs, msg.Election)
	case m.electing || m.coordinator == "":
	case from.Name == m.coordinator:
		m.algorithm.elect(TwoCoordinators)
	case from != theirs && m.lost(theirs), theirs.Name == m.self.Name && m.coordinator != m.self.Name:
	default:
		m.algorithm.elect(TwoCoordinators)
	}
}
