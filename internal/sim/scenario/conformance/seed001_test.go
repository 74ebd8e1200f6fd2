package conformance

import (
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// seed001 are the claims of seed 001 (001_8e70044dbd64bd69.txt).
func seed001() []Claim {
	return slices.Concat(both001(), bully001(), failing001())
}

func both001() []Claim {
	return []Claim{{
		Section: "Ring-based Elections",
		Quote:   "each process that receives it, adds its own process number and then forwards it to its successor; eventually it gets back that message",
		Reading: "RingList, n processes, Pn crashed, every initiator. Counted: elections in which the ELECTION that comes back to the initiator lists the n−1 live processes, its own number first.",
		Measure: listComesBack,
	}, {
		Section: "Ring-based Elections, Figure 6.7",
		Quote:   "A process that was down, when it comes back up starts a new election of its own",
		Reading: "Five processes; P3 was down, and comes back. Counted: whether it starts an election. The sentence stands between the ring and the bully; it is taken for both.",
		Measure: startsOnRecovery,
		Call:    "--algorithm StatusTableBully --crashed 3 --recover 3@300 --watch=false",
		Convention: "It is this seed's rule, so it binds Bully and RingList; LeLann and ChangRoberts, whose seed is silent, do the same. Seeds 002 and 004 have " +
			"their own: an inquiry round the ring, and REQUEST. ActiveListRing and StatusTableBully hold no election.",
	}, {
		Section: "Election algorithm",
		Quote:   "If no one responds, P wins the election",
		Reading: "Bully, six processes, all above the initiator crashed. Counted: who is elected, and when: after T, two link delays; P5, which has missed the only one above it, at once.",
		Measure: func(f *Finding) {
			f.columns("initiator", "coordinator", "elects itself at")
			for i := 1; i <= 5; i++ {
				var above []int
				for k := i + 1; k <= 6; k++ {
					above = append(above, k)
				}
				r := f.play(scenario.Scenario{Algorithm: "Bully", Processes: roster(6), Crashed: names(above...), Initiators: names(i)})
				at := "2"
				if i == 5 {
					at = "0"
				}
				f.row(name(i), compare(f, r.Coordinator, name(i)), compare(f, units(electedAt(r, name(i))), at))
			}
		},
	}}
}

func bully001() []Claim {
	return []Claim{{
		Section: "The bully algorithm",
		Quote:   "Upper bound on the time between sending a message to another process and receiving a response: T = 2Ttrans + Tprocess",
		Reading: "Bully, n processes all live, P1 initiates. Tprocess is 0 in the simulation. Counted: the longest time between an ELECTION and its OK, in link delays.",
		Measure: func(f *Finding) {
			f.series("longest wait, T", 2, 10, func(int) int { return 2 }, func(n int) int { return int(longestAnswer(f.notices("Bully", n, 1)) / unit) })
		},
	}, {
		Section: "Election algorithm",
		Quote:   "Eventually all processes give up, except one. This process sends out a message saying that it is the new “COORDINATOR”",
		Reading: "Bully, n processes, Pn crashed, every set of one or two initiators. Counted: runs in which one process only sends COORDINATOR, and that is Pn−1.",
		Measure: func(f *Finding) {
			f.columns("n", "elections", "one sends COORDINATOR")
			for n := 3; n <= 10; n++ {
				runs, right := 0, 0
				for i := 1; i < n; i++ {
					for j := i; j < n; j++ {
						runs++
						if slices.Equal(callers(f.afterCrash("Bully", n, slices.Compact([]int{i, j})...), election.Coordinator), names(n-1)) {
							right++
						}
					}
				}
				f.row(n, runs, compare(f, right, runs))
			}
		},
	}, {
		Section: "The bully algorithm",
		Quote:   "The process that knows it has the highest identifier can elect itself as the coordinator simply by sending a coordinator message to all processes with lower identifiers. […] Thus, it will become the coordinator, even though the current coordinator is functioning.",
		Reading: "Bully, n processes: Pn recovers while Pn−1 coordinates. Counted: its COORDINATORs, its ELECTIONs, and whom all follow.",
		Measure: func(f *Finding) {
			f.columns("n", "COORDINATOR, n−1", "ELECTION, none", "all follow")
			for n := 2; n <= 10; n++ {
				r := f.recovery("Bully", n, n)
				f.row(n, compare(f, r.Messages[election.Coordinator], n-1), compare(f, r.Messages[election.Election], 0), compare(f, r.Coordinator, name(n)))
			}
		},
	}, {
		Section: "The bully algorithm",
		Quote:   "If a process receives an election message, it sends back an answer message and begins another election – unless it has begun one already.",
		Reading: "Bully, n processes, Pn crashed, all others initiate at once. Counted: the elections that each process begins, and the OKs, one for each ELECTION that reaches a live process.",
		Measure: func(f *Finding) {
			f.columns("n", "elections begun, one a process", "ELECTIONs to the living", "OK, as many")
			for n := 3; n <= 10; n++ {
				r := f.afterCrash("Bully", n, upTo(n-1)...)
				reached := count(r, func(e scenario.Event) bool { return e.Message.Kind == election.Election && e.Peer != name(n) })
				f.row(n, compare(f, len(elections(r)), n-1), reached, compare(f, r.Messages[election.OK], reached))
			}
		},
	}, {
		Section: "The bully algorithm",
		Quote:   "Otherwise, the process waits a further period T' for a coordinator message to arrive from the new coordinator. If none arrives, it begins another election.",
		Reading: "Bully, three processes: P3 is down, P1 initiates, P2 answers OK at 1 and crashes before it announces itself. T' is 2·T, four link delays after the OK arrives at 2. Nobody tells P1 of the crash. Counted: when P1 begins anew, and whom it follows.",
		Measure: func(f *Finding) {
			r := f.play(scenario.Scenario{Algorithm: "Bully", Processes: roster(3), Crashed: names(3), Initiators: names(1),
				Faults: []scenario.Fault{{At: unit + unit/2, Kind: scenario.Crash, Processes: names(2)}}})
			again := scenario.Time(0)
			for _, e := range sent(r) {
				if e.Process == "P1" && e.Message.Kind == election.Election {
					again = e.At
				}
			}
			f.columns("begins anew at", "elected")
			f.row(compare(f, units(again), "6"), compare(f, r.Coordinator, "P1"))
		},
	}}
}

func listComesBack(f *Finding) {
	f.columns("n", "initiators", "the list comes back whole")
	for n := 3; n <= 10; n++ {
		right := 0
		for i := 1; i < n; i++ {
			for _, e := range f.afterCrash("RingList", n, i).Events {
				if e.Kind == scenario.Delivered && e.Process == name(i) && e.Message.Kind == election.Election {
					list := slices.Clone(e.Message.List)
					first := list[0] == name(i)
					slices.SortFunc(list, func(a, b string) int { return len(a) - len(b) })
					slices.Sort(list)
					want := names(upTo(n - 1)...)
					slices.Sort(want)
					if first && slices.Equal(list, want) {
						right++
					}
				}
			}
		}
		f.row(n, n-1, compare(f, right, n-1))
	}
}

// bySeed001 are the algorithms that the seed's rule for recovery binds, or that have no other.
var bySeed001 = []string{"Bully", "ChangRoberts", "LeLann", "RingList"}

func startsOnRecovery(f *Finding) {
	f.columns("algorithm", "its first message", "starts an election", "messages", "then all follow")
	for _, algorithm := range election.Algorithms() {
		r := f.recovery(algorithm, 5, 3)
		own := slices.DeleteFunc(sent(r), func(e scenario.Event) bool { return e.Process != "P3" })
		if len(own) == 0 {
			f.row(algorithm, "none", compare(f, false, slices.Contains(bySeed001, algorithm)), 0, r.Coordinator)
			continue
		}
		kind := own[0].Message.Kind
		starts := kind == election.Election || kind == election.ElectMe
		f.row(algorithm, kind, compare(f, starts, slices.Contains(bySeed001, algorithm)), r.Total, compare(f, r.Coordinator, "P5"))
	}
}

// electedAt is when a process took itself for the coordinator.
func electedAt(r scenario.Result, process string) scenario.Time {
	for _, e := range r.Events {
		if e.Kind == scenario.Follows && e.Process == process && e.Peer == process {
			return e.At
		}
	}
	return -1
}

func longestAnswer(r scenario.Result) (longest scenario.Time) {
	asked := map[[2]string]scenario.Time{}
	for _, e := range r.Events {
		switch {
		case e.Kind == scenario.Sent && e.Message.Kind == election.Election:
			asked[[2]string{e.Process, e.Peer}] = e.At
		case e.Kind == scenario.Delivered && e.Message.Kind == election.OK:
			longest = max(longest, e.At-asked[[2]string{e.Process, e.Peer}])
		}
	}
	return longest
}

// elections are the different elections that messages name as their initiators' own.
func elections(r scenario.Result) map[election.ID]bool {
	all := map[election.ID]bool{}
	for _, e := range sent(r) {
		if e.Message.Kind == election.Election {
			all[e.Message.Election] = true
		}
	}
	return all
}
