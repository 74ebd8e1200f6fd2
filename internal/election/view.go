package election

import "slices"

// One rule is outside all algorithms: processes that detect two coordinators hold an election. That
// is how the sides of a healed partition merge. A process sends its coordinator in a VIEW when a
// link opens, and a new coordinator sends a VIEW to the processes above it that run contrary to its
// belief. VIEWs are not counted as messages of an election.

func (m *Machine) sendView(name string) {
	if p, ok := m.peers[name]; !ok || p.link != up || m.electing || m.coordinator == "" {
		return
	}
	m.out.Messages = append(m.out.Messages, Envelope{To: name, Message: Message{
		Kind:     View,
		Election: m.decision,
		Process:  m.coordinator,
	}})
}

// lost reports whether this process's own link to q is down. Other grounds for believing that q has
// failed, or that q was out of reach earlier, say little against a process that follows q now.
func (m *Machine) lost(q Process) bool {
	return q.Name != m.self.Name && m.peers[q.Name].link == down &&
		slices.Contains(m.Links(), q.Name)
}

// receiveView compares the coordinator of another process with this one's. A process that takes
// part in an election has none to compare. A VIEW is outdated if it names a process whose link is
// down, or this very process: its sender will find out by asking. A coordinator that names another
// coordinator has stopped coordinating. With a bully, a VIEW that comes less than T after an
// announcement may have been sent before that, and its sender is asked when T is over.
func (m *Machine) receiveView(from Process, msg Message) {
	theirs, known := m.find(msg.Process)
	if from == theirs { // a process that coordinates has not withdrawn
		m.peers[from.Name].withdrawn = false
	}
	switch {
	case !known || theirs.Name == m.coordinator:
	case !m.candidate() && from == theirs && theirs.Priority > 0 && (m.electing ||
		m.coordinator == ""):
		m.follow(theirs, msg.Election)
	case m.electing || m.coordinator == "":
	case from.Name == m.coordinator:
		m.algorithm.elect(TwoCoordinators)
	case from != theirs && m.lost(theirs), theirs.Name == m.self.Name &&
		m.coordinator != m.self.Name:
	default:
		if m.contest(from) {
			m.algorithm.elect(TwoCoordinators)
		}
	}
}
