package election

import (
	"fmt"
	"strings"
)

// Config configures a Machine.
type Config struct {
	Algorithm   string
	Self        string
	Incarnation uint64    // of this process; it grows with every incarnation
	Roster      []Process // in ring order, including Self
	// the coordinator to start with, if another algorithm elected one; may be empty
	Coordinator string
	// how many elections this incarnation called before, by a Machine that it no longer uses: an ID
	// names one election, and messages of former ones may be under way
	Called uint64
}

// Machine is one process that runs one algorithm. It is not safe for concurrent use.
type Machine struct {
	self        Process
	incarnation uint64
	roster      []Process        // in ring order
	ranked      []Process        // the roster, highest process first
	peers       map[string]*peer // all processes but self
	coordinator string           // empty if unknown
	decision    ID               // the announcement that made it the coordinator
	previous    string           // the coordinator before this election
	electing    bool             // this process takes part in an election that has not ended
	withdrawn   bool
	changes     int    // how often the roster has changed
	sequence    uint64 // of the elections that this process called
	account     Account
	last        Account
	concluded   bool // the current step ended an election
	uncounted   int  // messages of this step that belong to an election that is over
	settling    settling
	name        string // of the algorithm
	algorithm   algorithm
	out         Output
}

// peer is what this process knows about another process.
type peer struct {
	link        link
	crashed     bool
	incarnation uint64 // the newest incarnation that a message came from
	lost        uint64 // for StatusTableBully: the incarnation in which its link went down
	request     ID     // for StatusTableBully: of the REQUEST that it sent while its link was down
	announced   uint64 // the sequence number of its newest announcement in that incarnation
	withdrawn   bool   // it called an election among the processes below it: it is no candidate
}

type link uint8

const (
	unknown link = iota
	up
	down
)

// New returns a Machine that has not started. It returns an error if the algorithm does not exist
// or if Self is not on the roster.
func New(c Config) (*Machine, error) {
	construct, ok := algorithms[c.Algorithm]
	if !ok {
		return nil, fmt.Errorf("no election algorithm %q; there are %s", c.Algorithm,
			strings.Join(Algorithms(), ", "))
	}
	m := &Machine{
		incarnation: c.Incarnation,
		coordinator: c.Coordinator,
		sequence:    c.Called,
		self:        Process{Name: c.Self},
	}
	if err := m.install(c.Roster); err != nil {
		return nil, err
	}
	if _, known := m.find(m.coordinator); !known {
		m.coordinator = ""
	}
	m.name, m.algorithm = c.Algorithm, construct(m)
	m.appoint()
	return m, nil
}

// appoint gives this process an election ID if it coordinates without having been elected by the
// current algorithm. It announces itself with that to processes that ask.
func (m *Machine) appoint() {
	if m.coordinator == m.self.Name {
		m.decision = ID{
			Initiator:   m.self.Name,
			Incarnation: m.incarnation,
			Sequence:    m.sequence,
		}
	}
}

// Step handles one event and returns what the driver must do. It ignores messages from processes
// that are not on the roster, from earlier incarnations, and of earlier elections.
func (m *Machine) Step(e Event) Output {
	m.out.Messages, m.out.Timers, m.concluded = m.out.Messages[:0], m.out.Timers[:0], false
	switch e.Type {
	case Start:
		m.algorithm.recover()
	case Receive:
		m.receive(e)
	case Timeout:
		m.timeout(e.Timer)
	case PeerUp:
		m.peerUp(e.Process)
	case PeerDown:
		m.peerDown(e.Process)
	case PeerUnlinked:
		m.peerUnlinked(e.Process)
	case Answered:
		if from, ok := m.find(e.Process); ok && e.Process != m.coordinator &&
			e.Process != m.self.Name {
			if e.Message.Process == m.coordinator {
				m.agrees(from)
			}
			m.receiveView(from, e.Message)
		}
	case Suspect:
		m.suspect(e.Process)
	case Appoint:
		m.appointed(e.Process, e.Predecessor)
	case Change:
		m.change(e.Roster, e.Algorithm)
	case Withdraw:
		m.withdraw()
	case Restore:
		m.withdrawn, m.electing = false, false
		m.algorithm.recover()
	case Led:
		m.led()
	}
	m.countSent()
	return m.out
}

// Called returns how many elections this incarnation has called, for Config.Called of the next
// Machine.
func (m *Machine) Called() uint64 { return m.sequence }

// Linked reports whether the link to a process is open.
func (m *Machine) Linked(name string) bool {
	p := m.peers[name]
	return p != nil && p.link == up
}

// Links returns the names of the processes to which the algorithm sends. A link to the coordinator
// is needed to watch it: that is the driver's task.
func (m *Machine) Links() []string { return m.algorithm.links() }

// Watched returns the names of the processes, besides the coordinator, whose failure must be
// detected: the algorithm depends on them.
func (m *Machine) Watched() []string { return m.algorithm.watched() }

// receive drops messages that must be ignored and passes on the rest.
func (m *Machine) receive(e Event) {
	from, ok := m.find(e.Process)
	if !ok || from.Name == m.self.Name || !m.newest(e.Process, e.Incarnation) ||
		m.late(e.Message.Election) {
		return
	}
	if m.peers[from.Name].link != down {
		m.peers[from.Name].crashed = false
	}
	if e.Message.Kind == View {
		m.receiveView(from, e.Message)
		return
	}
	m.algorithm.receive(from, e.Message)
}

func (m *Machine) timeout(t Timer) {
	if t == AwaitStragglers {
		m.settling.recent = false
		return
	}
	m.algorithm.timeout(t)
}

func (m *Machine) peerUp(name string) {
	if p, ok := m.peers[name]; ok {
		p.link, p.crashed = up, false
		m.sendView(name)
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

// peerUnlinked: of a process whose open link this one has closed, nothing is known any more, unless
// it is or was the coordinator.
func (m *Machine) peerUnlinked(name string) {
	p, ok := m.peers[name]
	if !ok || p.link != up {
		return
	}
	p.link = unknown
	if name != m.coordinator && name != m.previous {
		p.crashed = false
	}
}

// suspect handles a suspicion of the failure detector. A suspicion of any process but the current
// coordinator has no meaning, and none has during an election.
func (m *Machine) suspect(name string) {
	if name == "" || name != m.coordinator || name == m.self.Name || m.electing {
		return
	}
	// with the link up, it may run and have stopped coordinating
	if p := m.peers[name]; p.link != up {
		p.crashed = true
	}
	m.algorithm.elect(CoordinatorUnreachable)
}

// led forgets what others have said against the coordinator, and who has withdrawn: while this
// process knows who holds the lease, it does not hear who is a candidate again.
func (m *Machine) led() {
	m.undisputed()
	for _, p := range m.peers {
		p.withdrawn = false
	}
}

// withdraw takes this process out of candidacy. A coordinator that withdraws stops coordinating and
// calls an election that it cannot win, which hands over.
func (m *Machine) withdraw() {
	m.withdrawn = true
	if m.coordinator == m.self.Name {
		m.coordinator, m.electing = "", false
		m.algorithm.elect(Withdrawn)
	}
}

// appointed makes the process with the lease the coordinator, and ends an election that is under
// way. A process that never coordinates on this roster is not followed, whoever appoints it. A
// predecessor that has stepped down in favour of a lower process has withdrawn. (It is asked in the
// next election all the same: nothing tells the others when it is a candidate again.)
func (m *Machine) appointed(name, predecessor string) {
	p, ok := m.find(name)
	if !ok || p.Priority == 0 || m.coordinator == name && !m.electing {
		return
	}
	if old, ok := m.find(predecessor); ok && old.Outranks(p) {
		m.because(Withdrawn, old.Name)
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

// countSent adds the messages of this step to the account of the current election, or of the next
// one if none runs. It closes the account if the step ended an election.
func (m *Machine) countSent() {
	for i := range m.out.Messages {
		if m.out.Messages[i].Message.Kind == View {
			m.account.Views++
		} else {
			m.account.Sent++
		}
	}
	m.account.Sent -= m.uncounted
	m.uncounted = 0
	if m.concluded {
		m.last, m.account = m.account, Account{}
	}
}
