package election

// Status is the status of a process in the process status table (seed 004, tables 4 and 5).
type Status string

// The statuses of the process status table.
const (
	Normal      Status = "NORMAL"
	Coordinates Status = "COORDINATOR"
	Crashed     Status = "CRASHED"
)

// Entry is a row of the process status table.
type Entry struct {
	Name   string
	Status Status
}

// State is a snapshot of a Machine.
type State struct {
	Coordinator string // empty while there is none
	Electing    bool
	Withdrawn   bool
	Last        Account
}

// State returns a snapshot.
func (m *Machine) State() State {
	return State{
		Coordinator: m.coordinator,
		Electing:    m.electing,
		Withdrawn:   m.withdrawn,
		Last:        m.last,
	}
}

// AppendTable appends the process status table to a slice, in ring order.
func (m *Machine) AppendTable(table []Entry) []Entry {
	for _, p := range m.roster {
		table = append(table, Entry{Name: p.Name, Status: m.status(p)})
	}
	return table
}

// Rank returns how many live candidates rank between this process and the coordinator.
func (m *Machine) Rank() (rank int) {
	coordinator, _ := m.find(m.coordinator)
	for q := range m.higher {
		if coordinator.Outranks(q) && m.alive(q) {
			rank++
		}
	}
	return rank
}

// Failed reports whether this process takes another one for failed. It may do so of the
// coordinator, too, before there is another one: then the table shows the coordinator still.
func (m *Machine) Failed(name string) bool {
	p := m.peers[name]
	return p != nil && p.crashed
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
