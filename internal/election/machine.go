package election

import (
	"fmt"
	"slices"
	"strings"
)

// algorithm is a page of a book. It is called with events that concern it and acts through the Machine it embeds.
type algorithm interface {
	// recover does what the seed prescribes for a process that starts or recovers.
	recover()
	// elect calls an election. It does nothing if this process holds one already.
	elect(Reason)
	// receive handles a message of the algorithm from a process of the roster.
	receive(from Process, m Message)
	// timeout handles a timer that the algorithm set.
	timeout(Timer)
	// peerDown hears that nothing more comes from p. The coordinator's loss is told by elect, not here.
	peerDown(p Process)
	// peerUp hears that p can be reached.
	peerUp(p Process)
	// links are the processes that the algorithm sends to.
	links() []string
	// watched are the processes besides the coordinator whose failure the algorithm must learn of.
	watched() []string
}

// algorithms is every algorithm there is, by its API name.
var algorithms = map[string]func(*Machine) algorithm{
	"Bully":            func(m *Machine) algorithm { return &bully{Machine: m} },
	"StatusTableBully": func(m *Machine) algorithm { return &statusTableBully{Machine: m} },
	"LeLann":           func(m *Machine) algorithm { return &leLann{ring: ring{Machine: m}} },
	"ChangRoberts":     func(m *Machine) algorithm { return &changRoberts{ring: ring{Machine: m}} },
	"RingList":         func(m *Machine) algorithm { return &ringList{ring: ring{Machine: m}} },
	"ActiveListRing":   func(m *Machine) algorithm { return &activeListRing{ring: ring{Machine: m}} },
}

// Config says which process a Machine is and what it runs.
type Config struct {
	Algorithm   string
	Self        string
	Incarnation uint64    // of this process: a later life has a larger one
	Roster      []Process // in ring order; Self is among them
	Coordinator string    // the coordinator to begin with, where an algorithm takes over from another; may be empty
}

// Machine is one process running one algorithm. Not safe for concurrent use.
type Machine struct {
	self        Process
	incarnation uint64
	roster      []Process        // the roster, in ring order
	ranked      []Process        // the roster, highest first
	peers       map[string]*peer // all but self
	coordinator string           // empty: none known
	decision    ID               // of the announcement that gave the coordinator
	former      string           // the coordinator before this election
	electing    bool             // this process takes part in an election that has not ended
	withdrawn   bool
	changes     int    // of the roster
	sequence    uint64 // of the elections this process called
	account     Account
	last        Account
	settled     bool   // the present step ended an election
	name        string // of the algorithm
	algorithm   algorithm
	out         Output
}

// peer is what this process knows of another.
type peer struct {
	link        link
	crashed     bool
	incarnation uint64 // newest life heard of
	announced   uint64 // sequence of its newest announcement in that life
	withdrawn   bool   // it asked processes below it to coordinate, so it is no candidate
}

type link uint8

const (
	unknown link = iota
	up
	down
)

// New returns a Machine that has not started yet. It fails if there is no such algorithm or Self is not on the roster.
func New(c Config) (*Machine, error) {
	page, ok := algorithms[c.Algorithm]
	if !ok {
		return nil, fmt.Errorf("no election algorithm %q; there are %s", c.Algorithm, strings.Join(Algorithms(), ", "))
	}
	m := &Machine{incarnation: c.Incarnation, coordinator: c.Coordinator, self: Process{Name: c.Self}}
	if err := m.install(c.Roster); err != nil {
		return nil, err
	}
	if _, known := m.find(m.coordinator); !known {
		m.coordinator = ""
	}
	m.name, m.algorithm = c.Algorithm, page(m)
	m.appoint()
	return m, nil
}

// appoint gives a coordinator that was not elected by the algorithm in use what it needs to announce itself to who asks it.
func (m *Machine) appoint() {
	if m.coordinator == m.self.Name {
		m.decision = ID{Initiator: m.self.Name, Incarnation: m.incarnation, Sequence: m.sequence}
	}
}

// Algorithms lists the API names of all algorithms, sorted.
func Algorithms() []string {
	names := make([]string, 0, len(algorithms))
	for name := range algorithms {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Step takes one event and returns what is to be done. Messages from processes that are not on the roster, from earlier
// lives and of earlier elections change nothing.
func (m *Machine) Step(e Event) Output {
	m.out.Messages, m.out.Timers, m.settled = m.out.Messages[:0], m.out.Timers[:0], false
	switch e.Type {
	case Start:
		m.algorithm.recover()
	case Receive:
		m.receive(e)
	case Timeout:
		m.algorithm.timeout(e.Timer)
	case PeerUp:
		m.peerUp(e.Process)
	case PeerDown:
		m.peerDown(e.Process)
	case PeerUnlinked:
		if p, ok := m.peers[e.Process]; ok && p.link == up {
			p.link = unknown
		}
	case Answered:
		if from, ok := m.find(e.Process); ok && e.Process != m.coordinator && e.Process != m.self.Name {
			m.hearView(from, e.Message)
		}
	case Suspect:
		m.suspect(e.Process)
	case Appoint:
		m.appointed(e.Process)
	case Change:
		m.change(e.Roster, e.Algorithm)
	case Withdraw:
		m.withdraw()
	case Restore:
		m.withdrawn, m.electing = false, false
		m.algorithm.recover()
	}
	m.countSent()
	return m.out
}

// State returns a snapshot.
func (m *Machine) State() State {
	return State{Coordinator: m.coordinator, Electing: m.electing, Withdrawn: m.withdrawn, Last: m.last}
}

// AppendTable appends the process status table to a slice, in ring order.
func (m *Machine) AppendTable(table []Entry) []Entry {
	for _, p := range m.roster {
		table = append(table, Entry{Name: p.Name, Status: m.status(p)})
	}
	return table
}

// Rank is how many live candidates stand between this process and the coordinator.
func (m *Machine) Rank() (rank int) {
	coordinator, _ := m.find(m.coordinator)
	for q := range m.higher {
		if coordinator.Outranks(q) && m.alive(q) {
			rank++
		}
	}
	return rank
}

func (m *Machine) status(p Process) Status {
	switch {
	case p.Name == m.coordinator:
		return Coordinates
	case p.Name != m.self.Name && m.peers[p.Name].crashed:
		return Crashed
	default:
		return Normal
	}
}

// Links are the processes to keep a link to: those the algorithm sends to, and the coordinator.
func (m *Machine) Links() []string { return m.withCoordinator(m.algorithm.links()) }

// Watched are the processes whose failure must be detected: the coordinator, and whom the algorithm depends on besides.
func (m *Machine) Watched() []string { return m.withCoordinator(m.algorithm.watched()) }

func (m *Machine) withCoordinator(names []string) []string {
	if m.coordinator != "" && m.coordinator != m.self.Name && !slices.Contains(names, m.coordinator) {
		names = append(names, m.coordinator)
	}
	return names
}

// receive drops what must not be heard and hands the rest on.
func (m *Machine) receive(e Event) {
	from, ok := m.find(e.Process)
	if !ok || from.Name == m.self.Name || !m.heard(e.Process, e.Incarnation) {
		return
	}
	if id := e.Message.Election; id.Initiator != "" && id.Initiator != m.self.Name {
		// What others say of a life is hearsay: an earlier one is late, but a later one is not believed until its owner speaks,
		// or any member could silence any other for good.
		if initiator, ok := m.peers[id.Initiator]; !ok || id.Incarnation < initiator.incarnation {
			return
		}
	}
	if m.peers[from.Name].link != down {
		m.peers[from.Name].crashed = false
	}
	if e.Message.Kind == View {
		m.hearView(from, e.Message)
		return
	}
	m.algorithm.receive(from, e.Message)
}

// heard reports whether a life of a process is the newest known; a newer one is always heard, and its counters start anew.
func (m *Machine) heard(name string, incarnation uint64) bool {
	p := m.peers[name]
	if incarnation > p.incarnation {
		p.incarnation, p.announced, p.withdrawn = incarnation, 0, false
	}
	return incarnation == p.incarnation
}

func (m *Machine) peerUp(name string) {
	if p, ok := m.peers[name]; ok {
		p.link, p.crashed = up, false
		m.tellView(name)
		process, _ := m.find(name)
		m.algorithm.peerUp(process)
	}
}

func (m *Machine) peerDown(name string) {
	p, ok := m.peers[name]
	if !ok {
		return
	}
	p.link, p.crashed = down, true
	process, _ := m.find(name)
	m.algorithm.peerDown(process)
}

// suspect: the detector says that the coordinator is gone. About any other process than the coordinator of this moment
// that says nothing.
func (m *Machine) suspect(name string) {
	if name == "" || name != m.coordinator || name == m.self.Name || m.electing {
		return
	}
	if p := m.peers[name]; p.link != up { // it may live and have stopped coordinating
		p.crashed = true
	}
	m.algorithm.elect(CoordinatorUnreachable)
}

// withdraw: a coordinator that withdraws coordinates no more and calls an election that it cannot win: a hand-over.
func (m *Machine) withdraw() {
	m.withdrawn = true
	if m.coordinator == m.self.Name {
		m.coordinator, m.electing = "", false
		m.algorithm.elect(Withdrawn)
	}
}

// appointed: whoever has the lease coordinates, and an election that is under way ends.
func (m *Machine) appointed(name string) {
	p, ok := m.find(name)
	if !ok || m.coordinator == name && !m.electing {
		return
	}
	decision := ID{Initiator: name}
	if q := m.peers[name]; q != nil {
		decision.Incarnation = q.incarnation
	} else {
		m.sequence++
		decision.Incarnation, decision.Sequence = m.incarnation, m.sequence
	}
	m.follow(p, decision)
}

// change takes over a new roster, and another algorithm if it names one: the coordinator stays. What is known of a process
// stays as long as its UID does. A roster without this process changes nothing: the driver stops the machine.
func (m *Machine) change(roster []Process, name string) {
	if m.install(roster) != nil {
		return
	}
	if page, ok := algorithms[name]; ok && name != m.name {
		m.name, m.algorithm, m.electing = name, page(m), false
		m.appoint()
		m.stop(AwaitAnswer)
		m.stop(AwaitAnnouncement)
	}
	coordinator, ok := m.find(m.coordinator)
	switch {
	case m.coordinator == "":
		m.electing = false // its peers may have gone: call it anew
		m.algorithm.elect(RosterChanged)
	case !ok, coordinator.Priority == 0:
		m.coordinator = ""
		m.algorithm.elect(RosterChanged)
	case m.candidate() && m.self.Outranks(coordinator):
		m.algorithm.recover()
	case m.coordinator == m.self.Name: // by another roster, this process or another may not have been understood
		for _, q := range m.ranked {
			m.tellView(q.Name)
		}
	}
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
		known := oldPeers[p.Name] // nil in a nil map, too
		if known == nil || !slices.ContainsFunc(old, func(q Process) bool { return q.Name == p.Name && q.UID == p.UID }) {
			known = &peer{}
		}
		if p.Name != m.self.Name {
			m.peers[p.Name] = known
			known.withdrawn = false // it asked by priorities that may have changed
		}
	}
	return nil
}

// countSent books the messages of this step, and closes the account when the step ended an election.
func (m *Machine) countSent() {
	for i := range m.out.Messages {
		if m.out.Messages[i].Message.Kind == View {
			m.account.Views++
		} else {
			m.account.Sent++
		}
	}
	if m.settled {
		m.last, m.account = m.account, Account{}
	}
}
