package election

import (
	"fmt"
	"slices"
)

// change installs a new roster, and another algorithm if it names one: the coordinator stays. What
// is known about a process is kept while its UID is unchanged. A roster without this process
// changes nothing: the driver stops the machine.
func (m *Machine) change(roster []Process, name string) {
	if m.install(roster) != nil {
		return
	}
	electing := m.electing
	if construct, ok := algorithms[name]; ok && name != m.name {
		m.name, m.algorithm, m.electing = name, construct(m), false
		m.settling = settling{}
		m.appoint()
		m.stop(AwaitAnswer)
		m.stop(AwaitAnnouncement)
	}
	coordinator, ok := m.find(m.coordinator)
	switch {
	case m.coordinator == "" && electing:
		m.callAgain()
	case m.coordinator == "":
		m.algorithm.elect(RosterChanged)
	case !ok:
		m.coordinator = ""
		m.algorithm.elect(RosterChanged)
	case coordinator.Priority == 0: // the roster tells of its withdrawal before it does
		m.coordinator, m.electing = "", false
		m.algorithm.elect(Withdrawn)
		m.because(Withdrawn, coordinator.Name)
	case m.candidate() && m.self.Outranks(coordinator):
		m.algorithm.recover()
	// under another roster, a process may have dropped an announcement
	case m.coordinator == m.self.Name:
		for _, q := range m.ranked {
			m.sendView(q.Name)
		}
	}
}

// callAgain calls the election anew that this process takes part in: the peers that were asked may
// be gone. It is about the same as before, unless whoever asked this process is gone as well.
func (m *Machine) callAgain() {
	why, initiator := m.account.Reason, m.account.Initiator
	if _, known := m.find(initiator); !known && why == Asked {
		why, initiator = RosterChanged, m.self.Name
	}
	m.electing = false
	m.algorithm.elect(RosterChanged)
	m.because(why, initiator)
}

func (m *Machine) install(roster []Process) error {
	i := slices.IndexFunc(roster, func(p Process) bool { return p.Name == m.self.Name })
	if i < 0 {
		return fmt.Errorf("process %q is not on the roster", m.self.Name)
	}
	m.changes++
	old, oldPeers := m.roster, m.peers
	m.self, m.roster = roster[i], slices.Clone(roster)
	m.ranked = slices.SortedFunc(slices.Values(roster), func(p, q Process) int {
		if p.Outranks(q) {
			return -1
		}
		return 1
	})
	m.peers = make(map[string]*peer, len(roster))
	for _, p := range roster {
		known := oldPeers[p.Name] // a nil map has no entries
		if known == nil || !slices.ContainsFunc(old, func(q Process) bool {
			return q.Name == p.Name && q.UID == p.UID
		}) {
			known = &peer{}
		}
		if p.Name != m.self.Name {
			m.peers[p.Name] = known
			known.withdrawn = false // it asked by priorities that may have changed
		}
	}
	return nil
}
