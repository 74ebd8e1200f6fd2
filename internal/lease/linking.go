package lease

import "time"

// LinksTake returns how long the processes of a large group may take to make their links: 300 ms
// for each process, if they share two cores (C1). In a small group it is 0: nobody waits for that.
func LinksTake(processes int) time.Duration {
	if processes <= large {
		return 0
	}
	return time.Duration(processes) * 300 * time.Millisecond
}

// linking is what a process knows of its links. While those of a large group are being made, one
// that has failed counts as being made, too: its process may have yet to start (C1).
type linking struct {
	open  map[string]bool // to these processes
	until Instant         // the others are being made until then
}

// linkOpened notes that the link to a process has opened (C1), and has this process wait until it
// nominates itself (C9).
func (m *Machine) linkOpened(name string) {
	if m.roster != nil && m.linking.makes(name, m.now.Boot) {
		m.postponeFallback()
	}
	if m.linking.open == nil {
		m.linking.open = map[string]bool{}
	}
	m.linking.open[name] = true
}

// makes reports whether the link to a process is being made.
func (l *linking) makes(name string, now Instant) bool { return now < l.until && !l.open[name] }

// awaitsLinks reports whether this process asks for a lease while fewer than a majority have
// answered, and links to others are being made (C1).
func (m *Machine) awaitsLinks() bool {
	s := &m.candidacy.preVote
	if m.now.Boot >= m.linking.until || !s.wantsLease() {
		return false
	}
	answered, making := 0, 0
	for i, q := range m.roster.Members {
		switch {
		case !q.Voter:
		case s.answered[i]:
			answered++
		case q.Name != m.self.Name && m.linking.makes(q.Name, m.now.Boot):
			making++
		}
	}
	return making > 0 && answered < m.roster.majority()
}
