package election

import "slices"

// algorithm is one page of a book. The Machine calls it with events that concern it, and the
// algorithm acts through the Machine that it embeds.
type algorithm interface {
	// recover does what the seed prescribes for a process that starts or recovers.
	recover()
	// elect calls an election. It does nothing if this process already takes part in one.
	elect(Reason)
	// contest reports whether to elect now because a process names another coordinator. If not, it is
	// asked later (doubters).
	contest(from Process) (now bool)
	// agrees is called when a process that was asked names this process's coordinator.
	agrees(from Process)
	// undisputed is called when the lease says who leads: what has contradicted that counts no more.
	undisputed()
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
	// crowd reports whether they are fewer than in a smaller group.
	crowd() bool
	// reach says in short which they are, of a crowd.
	reach() Reach
	// awaits reports whether an answer of that process would be in time.
	awaits(process string) bool
	// awaitsLinks reports whether an answer cannot have come, because a link is being made.
	awaitsLinks() bool
	// watched returns the names of the processes, besides the coordinator, whose failure the
	// algorithm must learn of.
	watched() []string
	// doubters returns the names of the processes that are to be asked whom they follow.
	doubters() []string
}

// algorithms maps API names to algorithms.
var algorithms = map[string]func(*Machine) algorithm{
	"Bully": func(m *Machine) algorithm { return &bully{settling: settling{Machine: m}} },
	"StatusTableBully": func(m *Machine) algorithm {
		return &statusTableBully{settling: settling{Machine: m}}
	},
	"LeLann":       func(m *Machine) algorithm { return &leLann{ring: ring{Machine: m}} },
	"ChangRoberts": func(m *Machine) algorithm { return &changRoberts{ring: ring{Machine: m}} },
	"RingList":     func(m *Machine) algorithm { return &ringList{ring: ring{Machine: m}} },
	"ActiveListRing": func(m *Machine) algorithm {
		return &activeListRing{ring: ring{Machine: m}}
	},
}

// IsBully reports whether an algorithm is one of the bullies, where a process asks those that rank
// above it, and not a neighbour in a ring.
func IsBully(algorithm string) bool {
	return algorithm == "Bully" || algorithm == "StatusTableBully"
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
