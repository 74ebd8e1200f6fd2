package election

// newest reports whether this is the newest known incarnation of a process. A newer one than known
// is always accepted, and resets the counters.
func (m *Machine) newest(name string, incarnation uint64) bool {
	p := m.peers[name]
	if incarnation > p.incarnation {
		p.incarnation, p.announced, p.withdrawn = incarnation, 0, false
	}
	return incarnation == p.incarnation
}

// late reports whether a message is of an election that an earlier incarnation called, or a process
// that is not on the roster. A later incarnation that a third process names is not recorded: only a
// process itself may introduce a new one, or one member could silence another for good.
func (m *Machine) late(id ID) bool {
	if id.Initiator == "" || id.Initiator == m.self.Name {
		return false
	}
	initiator, ok := m.peers[id.Initiator]
	return !ok || id.Incarnation < initiator.incarnation
}
