package election

import "slices"

// algorithm is one page of a book. The Machine calls it with events that concern it, and the
// algorithm acts through the Machine that it embeds.
type algorithm interface {
	// recover does what the seed prescribes for a process that starts or recovers.
	recover()
	// elect calls an election. It does nothing if this process already takes part in one.
	elect(Reason)
	// receive handles a message of the algorithm from a process of the roster.
	receive(from Process, m Message)
	// timeout handles the expiry of a timer that the algorithm set.
	timeout(Timer)
	// peerDown is called when nothing more arrives from p. If the coordinator is lost, elect is
	// called as well.
	peerDown(p Process)
	// peerUp is called when p can be reached.
	peerUp(p Process)
	// links returns the names of the processes to which the algorithm sends.
	links() []string
	// watched returns the names of the processes, besides the coordinator, whose failure the
	// algorithm must learn of.
	watched() []string
}

// algorithms maps API names to algorithms.
var algorithms = map[string]func(*Machine) algorithm{
	"Bully":            func(m *Machine) algorithm { return &bully{Machine: m} },
	"StatusTableBully": func(m *Machine) algorithm { return &statusTableBully{Machine: m} },
	"LeLann":           func(m *Machine) algorithm { return &leLann{ring: ring{Machine: m}} },
	"ChangRoberts":     func(m *Machine) algorithm { return &changRoberts{ring: ring{Machine: m}} },
	"RingList":         func(m *Machine) algorithm { return &ringList{ring: ring{Machine: m}} },
	"ActiveListRing":   func(m *Machine) algorithm { return &activeListRing{ring: ring{Machine: m}} },
}

// Algorithms returns the API names of all algorithms, sorted.
func Algorithms() []string {
	names := make([]string, 0, len(algorithms))
	for name := range algorithms {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
