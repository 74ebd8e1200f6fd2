package election

import "slices"

// The methods in this file are the vocabulary in which the algorithms are written.

// candidate reports whether this process may become coordinator.
func (m *Machine) candidate() bool { return !m.withdrawn && m.self.Priority > 0 }

// holding reports whether this process already takes part in an election.
func (m *Machine) holding() bool { return m.electing }

// begin starts an election and returns its ID.
func (m *Machine) begin(why Reason, initiator string) ID {
	m.sequence++
	// a process that withdrew may be a candidate again, and one that was slow may still run
	if why == AnnouncementMissing {
		for _, p := range m.peers {
			p.withdrawn, p.crashed = false, p.link == down
		}
	}
	if m.coordinator != m.self.Name && m.coordinator != "" {
		m.previous, m.coordinator = m.coordinator, ""
	}
	if !m.electing {
		m.electing = true
		m.because(why, initiator)
	}
	return ID{
		Initiator:   m.self.Name,
		Incarnation: m.incarnation,
		Sequence:    m.sequence,
	}
}

// because records why this process takes part in the election, and who called it.
func (m *Machine) because(why Reason, initiator string) {
	m.account.Reason, m.account.Initiator = why, initiator
}

// follow makes q the coordinator, which ends the election for this process. A previous coordinator
// that outranks q has failed, otherwise q would not have been elected.
func (m *Machine) follow(q Process, decision ID) {
	for _, name := range [...]string{m.previous, m.coordinator} {
		if old, ok := m.find(name); ok && old.Outranks(q) && name != m.self.Name &&
			m.peers[name].link != up {
			m.crash(old)
		}
	}
	m.previous = ""
	if p := m.peers[q.Name]; p != nil {
		p.withdrawn = false
	}
	m.stop(AwaitAnswer)
	m.stop(AwaitAnnouncement)
	if m.coordinator == q.Name && !m.electing {
		return
	}
	if m.account.Reason == "" {
		m.because(Asked, decision.Initiator)
	}
	m.account.Decision, m.decision = decision, decision
	m.coordinator, m.electing, m.concluded = q.Name, false, true
}

// coordinate makes this process the coordinator. The algorithms announce it to lower processes that
// are believed to run; the VIEW informs the others, which may run contrary to that belief.
func (m *Machine) coordinate(decision ID) {
	m.follow(m.self, decision)
	m.viewOthers()
}

func (m *Machine) viewOthers() {
	for _, q := range m.ranked {
		if q.Name != m.self.Name && (q.Outranks(m.self) || !m.alive(q)) {
			m.sendView(q.Name)
		}
	}
}

// joinReason records that q calls an election, and returns why this process takes part in it. A
// process above this one that asks it to coordinate has withdrawn. If it is the coordinator in
// another incarnation than the one that was elected, it had failed before.
func (m *Machine) joinReason(q Process) Reason {
	p := m.peers[q.Name]
	if p == nil {
		return Asked
	}
	p.withdrawn = q.Outranks(m.self)
	switch {
	case !p.withdrawn:
		return Asked
	case (q.Name == m.coordinator || q.Name == m.previous) && m.decision.Initiator == q.Name &&
		m.decision.Incarnation != 0 && p.incarnation > m.decision.Incarnation:
		return CoordinatorUnreachable
	default:
		return Withdrawn
	}
}

// announcement reports whether the outcome of another process's election is news. An outcome with a
// lower sequence number of the same incarnation is a late message.
func (m *Machine) announcement(decision ID) bool {
	p := m.peers[decision.Initiator]
	if p == nil || decision.Sequence < p.announced {
		return false
	}
	p.announced = decision.Sequence
	return true
}

// higher yields the candidates above this process, highest first. For a process that has withdrawn,
// every candidate is above it.
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

// lower returns the processes below this one, highest first.
func (m *Machine) lower() []Process { return m.ranked[m.rankOf(m.self)+1:] }

// rankOf returns how many processes rank above q.
func (m *Machine) rankOf(q Process) int {
	return slices.IndexFunc(m.ranked, func(p Process) bool { return p.Name == q.Name })
}

// alive reports whether q is believed to run.
func (m *Machine) alive(q Process) bool { return q.Name == m.self.Name || !m.peers[q.Name].crashed }

// crash records that q is believed to have failed.
func (m *Machine) crash(q Process) { m.peers[q.Name].crashed = true }

// find returns the process with this name.
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

// wait sets a timer to so many units of T.
func (m *Machine) wait(t Timer, units int) {
	m.out.Timers = append(m.out.Timers, TimerOp{Timer: t, Wait: units})
}

func (m *Machine) stop(t Timer) { m.out.Timers = append(m.out.Timers, TimerOp{Timer: t}) }

// others returns all other processes in ring order, starting after this one.
func (m *Machine) others() []Process {
	others := make([]Process, 0, len(m.roster))
	at := m.place(m.self.Name)
	return append(append(others, m.roster[at+1:]...), m.roster[:at]...)
}

// live returns those processes that the process status table does not show as crashed.
func (m *Machine) live(processes []Process) []Process {
	live := make([]Process, 0, len(processes)+1)
	for _, q := range processes {
		if m.alive(q) {
			live = append(live, q)
		}
	}
	return live
}

// place returns the position of a process in the ring.
func (m *Machine) place(name string) int {
	return slices.IndexFunc(m.roster, func(p Process) bool { return p.Name == name })
}

// otherNames returns the names of all other processes in ring order.
func (m *Machine) otherNames() []string {
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
