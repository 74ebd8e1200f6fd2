package election

// costs has what an election costs by each algorithm's page, in messages: n processes take part, one
// of them calls it, the coordinator has failed, and nothing else goes wrong. It is the most that it
// can take, whoever calls it, with the messages that announce the result.
var costs = map[string]func(n int) int{
	// Seed 003: n(n−1) ELECTION and OK if the lowest calls it, and n−1 COORDINATOR.
	"Bully": func(n int) int { return n*(n-1) + n - 1 },
	// Seed 004, section 5: 2+(n−2) after a failure, and 2+(n−1) for a recovery.
	"StatusTableBully": func(n int) int { return n + 1 },
	// Seed 000: each "elect me" ends at the initiator; then n "new coordinator".
	"LeLann": func(n int) int { return n*(n+1)/2 + n },
	// Seed 000.
	"ChangRoberts": func(n int) int { return 3*n - 1 },
	// Seed 003: two rounds.
	"RingList": func(n int) int { return 2 * n },
	// Seed 002: each of n elect messages goes round.
	"ActiveListRing": func(n int) int { return n * n },
}

// Cost returns how many messages one election of an algorithm takes at most among n processes, as
// the page of the algorithm has it; 0: there is no such algorithm. More are sent if several
// processes call an election, or if processes fail meanwhile.
func Cost(algorithm string, n int) int {
	if cost := costs[algorithm]; cost != nil {
		return cost(n)
	}
	return 0
}
