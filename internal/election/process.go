package election

import "slices"

// What follows is the vocabulary in which the algorithms are written.

// candidate reports whether this process may become coordinator.
func (m *Machine) candidate() bool { return !m.withdrawn && m.self.Priority > 0 }

// holding reports whether this process holds an election already.
func (m *Machine) holding() bool { return m.electing }

// begin opens an election and names it.
func (m *Machine) begin(why Reason, initiator string) ID {
	m.sequence++
	if why == AnnouncementMissing { // who withdrew may be well again, and who was only slow may live
		for _, p := range m.peers {
			p.withdrawn, p.crashed = false, p.link == down
		}
	}
	if m.coordinator != m.self.Name && m.coordinator != "" {
		m.former, m.coordinator = m.coordinator, ""
	}
	if !m.electing {
		m.electing = true
		m.account.Reason, m.account.Initiator = why, initiator
	}
	return ID{Initiator: m.self.Name, Incarnation: m.incarnation, Sequence: m.sequence}
}

// follow takes q for the coordinator; the election is over for this process. A former coordinator above q has failed, or
// q would not have been elected.
func (m *Machine) follow(q Process, decision ID) {
	for _, name := range [...]string{m.former, m.coordinator} {
		if old, ok := m.find(name); ok && old.Outranks(q) && name != m.self.Name && m.peers[name].link != up {
			m.crash(old)
		}
	}
	m.former = ""
	if p := m.peers[q.Name]; p != nil {
		p.withdrawn = false
	}
	m.stop(AwaitAnswer)
	m.stop(AwaitAnnouncement)
	if m.coordinator == q.Name && !m.electing {
		return
	}
	if m.account.Reason == "" {
		m.account.Reason, m.account.Initiator = Asked, decision.Initiator
	}
	m.account.Decision, m.decision = decision, decision
	m.coordinator, m.electing, m.settled = q.Name, false, true
}

// coordinate makes this process the coordinator. Announcements go to lower processes that are believed to run: the view
// tells the others that are there against its belief.
func (m *Machine) coordinate(decision ID) {
	m.follow(m.self, decision)
	m.tellOthers()
}

func (m *Machine) tellOthers() {
	for _, q := range m.ranked {
		if q.Name != m.self.Name && (q.Outranks(m.self) || !m.alive(q)) {
			m.tellView(q.Name)
		}
	}
}

// asked notes that q calls an election, and tells why this process takes part in it: a process above this one that asks
// it to coordinate has withdrawn.
func (m *Machine) asked(q Process) Reason {
	p := m.peers[q.Name]
	if p == nil {
		return Asked
	}
	if p.withdrawn = q.Outranks(m.self); p.withdrawn {
		return Withdrawn
	}
	return Asked
}

// announcement checks the outcome of another process's election: an earlier one of the same life is a late message.
func (m *Machine) announcement(decision ID) bool {
	p := m.peers[decision.Initiator]
	if p == nil || decision.Sequence < p.announced {
		return false
	}
	p.announced = decision.Sequence
	return true
}

// higher yields the candidates above this process, highest first. To a process that has withdrawn, every candidate is
// above it.
func (m *Machine) higher(yield func(Process) bool) {
	for _, q := range m.ranked {
		if q.Priority == 0 || (q.Name == m.self.Name && !m.withdrawn) {
			return
		}
		if q.Name != m.self.Name && !m.peers[q.Name].withdrawn && !yield(q) {
			return
		}
	}
}

// lower are the processes below this one, highest first.
func (m *Machine) lower() []Process {
	i := slices.IndexFunc(m.ranked, func(p Process) bool { return p.Name == m.self.Name })
	return m.ranked[i+1:]
}

// alive reports whether q is believed to run.
func (m *Machine) alive(q Process) bool { return q.Name == m.self.Name || !m.peers[q.Name].crashed }

// crash notes that q is believed to have failed.
func (m *Machine) crash(q Process) { m.peers[q.Name].crashed = true }

// find looks a process up by name.
func (m *Machine) find(name string) (Process, bool) {
	for _, p := range m.roster {
		if p.Name == name {
			return p, true
		}
	}
	return Process{}, false
}

func (m *Machine) send(to Process, msg Message) {
	m.out.Messages = append(m.out.Messages, Envelope{To: to.Name, Message: msg})
}

// wait sets a timer, in units of T.
func (m *Machine) wait(t Timer, units int) {
	m.out.Timers = append(m.out.Timers, TimerOp{Timer: t, Wait: units})
}

func (m *Machine) stop(t Timer) { m.out.Timers = append(m.out.Timers, TimerOp{Timer: t}) }

// everyOther is every other process, in ring order, beginning after this one.
func (m *Machine) everyOther() []Process {
	others := make([]Process, 0, len(m.roster))
	at := m.place(m.self.Name)
	return append(append(others, m.roster[at+1:]...), m.roster[:at]...)
}

// live are those of the given processes that the process status table does not show crashed.
func (m *Machine) live(processes []Process) []Process {
	live := make([]Process, 0, len(processes)+1)
	for _, q := range processes {
		if m.alive(q) {
			live = append(live, q)
		}
	}
	return live
}

// place is the position of a process of the roster in the ring.
func (m *Machine) place(name string) int {
	return slices.IndexFunc(m.roster, func(p Process) bool { return p.Name == name })
}

// everyone is the name of every other process, in ring order.
func (m *Machine) everyone() []string {
	names := make([]string, 0, len(m.roster))
	for _, p := range m.roster {
		if p.Name != m.self.Name {
			names = append(names, p.Name)
		}
	}
	return names
}

// without removes a name from a list, in place.
func without(names []string, name string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return n == name })
}
