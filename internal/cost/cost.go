// Package cost has what an election costs by the page of each algorithm
// (docs/reference/algorithms). The manager shows it beside what an election took; it elects nobody,
// so it has the figures from here. That they are those of internal/election, TestCost in
// internal/sim/scenario shows.
package cost

// messages has the most that an election of n processes can take, whoever calls it, with the
// messages that announce the result: one of them calls it, the coordinator has failed, and nothing
// else goes wrong.
var messages = map[string]func(n int) int{
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

// Messages returns how many messages one election of an algorithm takes at most among n processes,
// as the page of the algorithm has it; 0: there is no such algorithm. More are sent if several
// processes call an election, or if processes fail meanwhile.
func Messages(algorithm string, n int) int {
	if most := messages[algorithm]; most != nil {
		return most(n)
	}
	return 0
}
