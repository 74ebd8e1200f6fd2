package conformance

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// seed003 are the claims of seed 003 (003_bb998ca24edd6aed.txt).
func seed003() []Claim {
	return slices.Concat(bully003(), bound003(), cost003(), ring003())
}

func bully003() []Claim {
	return []Claim{{
		Section: "The Bully Algorithm - Overview, Figure 6-20",
		Quote:   "When a crashed process reboots, it holds an election. If it is now the highest-numbered live process, it will win. […] If 7 comes back on line, it will call an election",
		Reading: "Bully, processes 0 to 7 (here P1 to P8): P8 reboots while P7 coordinates. It knows itself highest: its election is its COORDINATORs (001).",
		Measure: func(f *Finding) {
			r := f.recovery("Bully", 8, 8)
			f.columns("reboots", "all follow", "messages")
			f.row("P8", compare(f, r.Coordinator, "P8"), fmt.Sprintf("%s COORDINATOR", compare(f, r.Messages[election.Coordinator], 7)))
		},
	}, {
		Section: "The Bully Algorithm - Overview",
		Quote:   "Repeat until no higher-level process responds. The last process to call an election “wins” the election.",
		Reading: "Bully, n processes, Pn crashed, P1 initiates. Counted: when the winner calls its election, and when the last process does.",
		Measure: func(f *Finding) {
			f.columns("n", "the last calls at", "the winner calls at")
			for n := 4; n <= 10; n++ {
				r := f.afterCrash("Bully", n, 1)
				var last, winner scenario.Time
				for _, e := range sent(r) {
					if e.Message.Kind == election.Election {
						last = e.At
						if e.Process == r.Coordinator && winner == 0 {
							winner = e.At
						}
					}
				}
				f.row(n, units(last), compare(f, units(winner), units(last)))
			}
		},
		Call:       "--processes 10 --crashed 10 --initiator 1",
		Convention: "All who are asked in one instant call in one instant: the winner is among the last, not after the others.",
	}, {
		Section: "Analysis",
		Quote:   "if a process calls an election when the coordinator is still active, the coordinator will win the election",
		Reading: "All live, n = 2 to 8, every initiator, every algorithm. Counted: elections after which all follow Pn still.",
		Measure: func(f *Finding) {
			f.columns("algorithm", "elections", "the coordinator wins")
			for _, algorithm := range election.Algorithms() {
				elections, won := 0, 0
				for n := 2; n <= 8; n++ {
					for i := 1; i <= n; i++ {
						elections++
						if f.notices(algorithm, n, i).Coordinator == name(n) {
							won++
						}
					}
				}
				f.row(algorithm, elections, compare(f, won, elections))
			}
		},
	}}
}

// bound003 is how long a process waits.
func bound003() []Claim {
	return []Claim{{
		Section: "Analysis",
		Quote:   "processes can determine that a process has failed by knowing the upper bound (UB) on message transmission time (T) and message processing time (M). UB = 2 * T + M",
		Reading: "Bully, n processes, nobody coordinates and all above P1 are down: it asks them all. T is one link delay and M is 0, so UB is two link delays (seed 001 and this project call UB T). Counted: when P1 takes them for failed and elects itself.",
		Measure: func(f *Finding) {
			f.series("elects itself after, UB", 2, 10, func(int) int { return 2 }, func(n int) int {
				r := f.play(scenario.Scenario{
					Algorithm: "Bully", Processes: roster(n), Cold: true, Crashed: names(upTo(n)[1:]...), Initiators: names(1),
				})
				return int(electedAt(r, "P1") / unit)
			})
		},
	}, {
		Section: "The Ring Algorithm - Overview",
		Quote:   "Faulty systems are those that don’t respond in a fixed amount of time.",
		Reading: "RingList, n processes, P2 crashes at 5. Counted: when P1 takes it for faulty, after UB, and who coordinates then, as before.",
		Measure: func(f *Finding) {
			f.columns("n", "P1 takes P2 for faulty at, 5 + UB", "all follow")
			for n := 3; n <= 10; n++ {
				r := f.play(scenario.Scenario{
					Algorithm: "RingList", Processes: roster(n), Detect: true,
					Faults: []scenario.Fault{{At: 5 * unit, Kind: scenario.Crash, Processes: names(2)}},
				})
				at := scenario.Time(0)
				for _, e := range r.Events {
					if e.Kind == scenario.LinkDown && e.Process == "P1" && e.Peer == "P2" {
						at = e.At
					}
				}
				f.row(n, compare(f, units(at), "7"), compare(f, r.Coordinator, name(n)))
			}
		},
		Call:       "--algorithm RingList --processes 10 --crash 2@5",
		Convention: "On a real network the fixed time is measured and bounded, and a link that the peer's kernel closes or refuses stands for silence.",
	}}
}

// cost003 is what bully costs.
func cost003() []Claim {
	return []Claim{{
		Section: "Complexity",
		Quote:   "If the election is started by the highest ID process n-1 messages are enough (“I will be the leader” said to everyone else!!)",
		Reading: "Bully, n processes all live, no coordinator yet, Pn starts. Counted: all messages.",
		Measure: func(f *Finding) {
			f.series("messages, n−1", 2, 10, func(n int) int { return n - 1 }, func(n int) int {
				return f.play(scenario.Scenario{Algorithm: "Bully", Processes: roster(n), Cold: true, Initiators: names(n)}).Total
			})
		},
	}, {
		Section: "Complexity",
		Quote:   "If the election is started by the lowest ID process n(n-1) messages",
		Reading: "Bully, n processes all live, P1 starts. Counted: ELECTION and OK.",
		Measure: func(f *Finding) {
			f.series("ELECTION and OK, n(n−1)", 2, 10, func(n int) int { return n * (n - 1) }, func(n int) int {
				r := f.notices("Bully", n, 1)
				return r.Messages[election.Election] + r.Messages[election.OK]
			})
			f.row(append([]any{"COORDINATOR, besides"}, overRange(2, 10, func(n int) any { return f.notices("Bully", n, 1).Messages[election.Coordinator] })...)...)
		},
		Call:       "--processes 10 --initiator 1",
		Convention: "Without the COORDINATORs. Each of the n(n−1)/2 pairs exchanges one ELECTION and one OK: the process coordinating is alive and answers, too.",
	}, {
		Section: "Complexity",
		Quote:   "The complexity (i.e., the number of messages required to complete) depends on who starts the election",
		Reading: "Bully, eight processes all live, every initiator Pi. Counted: ELECTION and OK, which are k(k−1) for the k = 8−i+1 processes from Pi up.",
		Measure: func(f *Finding) {
			f.columns("initiator", "ELECTION and OK, k(k−1)", "COORDINATOR")
			for i := 1; i <= 8; i++ {
				r := f.notices("Bully", 8, i)
				k := 8 - i + 1
				f.row(name(i), compare(f, r.Messages[election.Election]+r.Messages[election.OK], k*(k-1)), r.Messages[election.Coordinator])
			}
		},
		Call:       "--processes 8 --initiator 8",
		Convention: "P8, which coordinates already, announces itself to all others when it starts; to a caller it repeats its announcement.",
	}}
}

func overRange(from, to int, figure func(n int) any) []any {
	var all []any
	for n := from; n <= to; n++ {
		all = append(all, figure(n))
	}
	return all
}

func ring003() []Claim {
	return []Claim{{
		Section: "The Ring Algorithm - Overview",
		Quote:   "Processes are able to “skip” faulty systems: instead of sending to process j, send to j + 1.",
		Reading: "RingList, eight processes, P8 and the k below it crashed, as their predecessor knows; P1 initiates. Counted: messages, 2 for each live process, and those sent to faulty ones.",
		Measure: func(f *Finding) {
			f.columns("crashed", "live", "messages", "to faulty ones")
			for k := range 6 {
				crashed := []int{8}
				for i := 1; i <= k; i++ {
					crashed = append(crashed, 8-i)
				}
				r := f.play(scenario.Scenario{Algorithm: "RingList", Processes: roster(8), Crashed: names(crashed...), Initiators: names(1)})
				lost := count(r, func(e scenario.Event) bool { return slices.Contains(names(crashed...), e.Peer) })
				f.row(len(crashed), 7-k, compare(f, r.Total, 2*(7-k)), compare(f, lost, 0))
			}
		},
	}, {
		Section: "A Ring Algorithm",
		Quote:   "OK to have two elections at once. […] Here, both 2 and 1 elect 6: [5, 6, 0, 1, 2, 3, 4] [2, 3, 4, 5, 6, 0, 1]",
		Reading: "RingList, processes 0 to 6. The lists begin with their initiators: they are those of 5 and 2, although the text says 2 and 1. Both pairs are tried. Counted: the lists as they come back, and whom each list elects.",
		Measure: twoElections,
	}, {
		Section: "Complexity",
		Quote:   "Given we have n processes, the complexity is always 2n",
		Reading: "RingList, one initiator, every initiator. Counted: all messages; n is the live processes, here n−1 of n, as Pn has crashed.",
		Measure: func(f *Finding) {
			f.columns("live", "initiators", "2n for every one")
			for n := 3; n <= 11; n++ {
				right := 0
				for i := 1; i < n; i++ {
					if f.afterCrash("RingList", n, i).Total == 2*(n-1) {
						right++
					}
				}
				f.row(n-1, n-1, compare(f, right, n-1))
			}
		},
		Call:       "--algorithm RingList --processes 11 --crashed 11 --initiator 10",
		Convention: "n is the live processes; a process that is known to have failed is skipped and costs nothing.",
	}, {
		Section: "Complexity",
		Quote:   "always 2n",
		Reading: "RingList, k initiators at once (the seed allows that), six processes all live: each holds an election of its own.",
		Measure: func(f *Finding) {
			f.columns("initiators", "messages", "for each election, 2n")
			for k := 1; k <= 6; k++ {
				r := f.notices("RingList", 6, upTo(k)...)
				f.row(k, r.Total, compare(f, r.Total/k, 12))
			}
		},
		Call:       "--algorithm RingList --processes 6 --initiator 1,2,3,4,5,6",
		Convention: "Per election: k at once take 2n each.",
	}}
}

// twoElections plays the example of 003 with its own numbers, 0 to 6. A priority of 0 never
// coordinates, so each process's priority is its number and one.
func twoElections(f *Finding) {
	var processes []election.Process
	for i := range int32(7) {
		processes = append(processes, election.Process{Name: fmt.Sprint(i), Priority: i + 1})
	}
	f.columns("initiators", "lists that come back", "all follow", "messages")
	for _, c := range []struct {
		initiators []string
		lists      []string
	}{
		{[]string{"5", "2"}, []string{"[5 6 0 1 2 3 4]", "[2 3 4 5 6 0 1]"}},
		{[]string{"2", "1"}, []string{"[2 3 4 5 6 0 1]", "[1 2 3 4 5 6 0]"}},
	} {
		r := f.play(scenario.Scenario{Algorithm: "RingList", Processes: processes, Initiators: c.initiators})
		var lists []string
		for _, e := range r.Events {
			if e.Kind == scenario.Delivered && e.Message.Kind == election.Election && e.Message.Election.Initiator == e.Process {
				lists = append(lists, fmt.Sprint(e.Message.List))
			}
		}
		f.row(strings.Join(c.initiators, ", "), compare(f, strings.Join(lists, " "), strings.Join(c.lists, " ")),
			compare(f, r.Coordinator, "6"), r.Total)
	}
}
