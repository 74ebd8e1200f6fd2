package conformance

import (
	"fmt"
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// seed004 are the claims of seed 004 (004_c6e77801e228c874.txt; Basu 2011).
func seed004() []Claim {
	return slices.Concat(behaviour004(), worst004(), best004(), recovery004(), example004())
}

func behaviour004() []Claim {
	return []Claim{{
		Section: "1 Introduction",
		Quote:   "When the system is initialized then the process with the highest priority number is selected as the coordinator.",
		Reading: "StatusTableBully, n processes start at once and nobody knows anyone. Counted: whom all follow.",
		Measure: func(f *Finding) {
			f.columns("n", "all follow", "messages")
			for n := 2; n <= 10; n++ {
				r := f.play(scenario.Scenario{Algorithm: "StatusTableBully", Processes: roster(n), Cold: true})
				f.row(n, compare(f, r.Coordinator, name(n)), r.Total)
			}
		},
	}, {
		Section: "4.2 Case2, 6.2 Case2",
		Quote:   "If P4 does not get any response to its election message within a fixed timeout period; it assumes that process P9 also has failed. Therefore, it sends the election message to the process having the priority just below […] eventually P4 has to take the charge",
		Reading: "StatusTableBully, ten processes, P10 crashed with the k below it, unknown to all; P4 initiates. Counted: ELECTIONs, k and one that is answered; when the winner takes charge, T = 2 later for each that does not answer, and one link delay for the one that does.",
		Measure: chain,
	}, {
		Section: "4, 7 Critical comment on Bully Algorithm",
		Quote:   "when a failed process recovers then it must not initiate any election algorithm",
		Reading: "StatusTableBully, n processes, every one of them recovers in turn. Counted: ELECTIONs from then on.",
		Measure: func(f *Finding) {
			f.columns("n", "recoveries", "ELECTIONs")
			for n := 2; n <= 10; n++ {
				asked := 0
				for k := 1; k <= n; k++ {
					asked += f.recovery("StatusTableBully", n, k).Messages[election.Election]
				}
				f.row(n, n, compare(f, asked, 0))
			}
		},
	}}
}

func chain(f *Finding) {
	f.columns("crashed besides P10", "ELECTIONs", "OK", "elected", "takes charge at")
	for k := range 6 {
		crashed := []int{10}
		for i := 1; i <= k; i++ {
			crashed = append(crashed, 10-i)
		}
		r := f.play(scenario.Scenario{
			Algorithm: "StatusTableBully", Processes: roster(10), Crashed: names(crashed...), Initiators: names(4),
		})
		winner, asked, answers, at := name(9-k), k+1, 1, 2*k+1
		if k == 5 { // P5 to P9 are all down: P4 itself takes charge
			asked, answers, at = 5, 0, 10
		}
		f.row(k, compare(f, r.Messages[election.Election], asked), compare(f, r.Messages[election.OK], answers),
			compare(f, r.Coordinator, winner), compare(f, units(electedAt(r, winner)), fmt.Sprint(at)))
	}
}

func worst004() []Claim {
	return []Claim{{
		Section: "5.1.1 Worst case",
		Quote:   "altogether (n-2) elections are performed one after the other. That is all the processes except the active process with the highest priority and the coordinator process that has just failed, perform elections",
		Reading: "Bully, n processes, Pn crashed, P1 initiates. Counted: processes that send ELECTION.",
		Measure: func(f *Finding) {
			f.series("elections, n−2", 3, 10, func(n int) int { return n - 2 }, func(n int) int { return len(callers(f.afterCrash("Bully", n, 1), election.Election)) })
		},
		Because: "Pn−1, the active process with the highest priority, performs one, too: it is asked by lower ones, and by the rule of seeds 000 to 003 asks Pn, the only one above it, before " +
			"it elects itself. It cannot know that Pn has failed; P1 noticed that, not Pn−1. That is one election and one ELECTION message more. Nor are they performed one after the other: " +
			"all whom P1 asks begin in the same instant.",
	}, {
		Section: "5.1.1 Worst case, Table 1",
		Quote:   "in the worst case, the bully algorithm requires O (n²) messages",
		Reading: "Bully, n processes, Pn crashed, P1 initiates. By the rules of 000 to 003: n(n−1)/2 ELECTION, (n−1)(n−2)/2 OK, n−2 COORDINATOR, which is n² − n − 1 in all.",
		Measure: func(f *Finding) {
			f.reckoned("messages, n²−n−1", 3, func(n int) int { return n*n - n - 1 }, func(n int) int { return f.afterCrash("Bully", n, 1).Total })
		},
		Convention: "The order is n² and the figure is below n²; the seed gives no figure.",
	}, {
		Section: "5.1.1 Worst case, Table 1",
		Quote:   "the number of messages required is 2. […] In addition, in both the above cases (n-2) COORDINATOR messages are required",
		Reading: "StatusTableBully, n processes, Pn crashed, every initiator but Pn−1. Counted: elections that take one ELECTION, one OK, n−2 COORDINATOR, 2 + (n−2) in all.",
		Measure: func(f *Finding) {
			f.columns("n", "2 + (n−2)", "initiators", "as claimed")
			for n := 3; n <= 10; n++ {
				right := 0
				for i := 1; i <= n-2; i++ {
					r := f.afterCrash("StatusTableBully", n, i)
					if r.Messages[election.Election] == 1 && r.Messages[election.OK] == 1 && r.Messages[election.Coordinator] == n-2 && r.Total == n {
						right++
					}
				}
				f.row(n, n, n-2, compare(f, right, n-2))
			}
		},
	}, {
		Section: "5.1.1 Worst case",
		Quote:   "(n-2) COORDINATOR messages […] common in both the cases",
		Reading: "Bully, n processes, Pn crashed, P1 initiates. Counted: COORDINATOR.",
		Measure: func(f *Finding) {
			f.series("COORDINATOR, n−2", 3, 10, func(n int) int { return n - 2 }, func(n int) int { return f.afterCrash("Bully", n, 1).Messages[election.Coordinator] })
		},
	}}
}

func best004() []Claim {
	return []Claim{{
		Section: "5.1.2 Best case",
		Quote:   "it immediately elects itself as the new coordinator and sends (n-2) COORDINATOR messages. Hence in the best case, Bully algorithm requires (n-2) messages.",
		Reading: "Bully, n processes, Pn crashed, Pn−1 notices. Counted: all messages.",
		Measure: func(f *Finding) {
			f.series("messages, n−2", 3, 10, func(n int) int { return n - 2 }, func(n int) int { return f.afterCrash("Bully", n, n-1).Total })
		},
		Because: "Pn−1 sends one ELECTION to Pn: by rule 1 it asks every process with a higher priority, known to be down or not, and that message counts. Without it they are n−2.",
	}, {
		Section: "5.1.2 Best case",
		Quote:   "In the same scenario the proposed algorithm also sends only (n-2) COORDINATOR messages.",
		Reading: "StatusTableBully, n processes, Pn crashed, Pn−1 notices. Its table shows that nobody is left to ask. Counted: all messages.",
		Measure: func(f *Finding) {
			f.series("messages, n−2", 3, 10, func(n int) int { return n - 2 }, func(n int) int { return f.afterCrash("StatusTableBully", n, n-1).Total })
		},
	}}
}

func recovery004() []Claim {
	return []Claim{{
		Section: "5.2.1 Worst case",
		Quote:   "In the worst case, the process with the lowest priority has to initiate recovery action, and hence requires O (n²) messages.",
		Reading: "Bully, n processes, P1 recovers while Pn coordinates, all others live. By the rules of 000 to 003: n(n−1) ELECTION and OK, and one COORDINATOR for each caller, n²−1 in all.",
		Measure: func(f *Finding) {
			f.reckoned("messages, n²−1", 3, func(n int) int { return n*n - 1 }, func(n int) int { return f.recovery("Bully", n, 1).Total })
		},
		Convention: "The order is n²; the seed gives no figure.",
	}, {
		Section: "5.2.1 Worst case, 5.2.2 Best case, 4.3 and 4.4",
		Quote:   "2 messages are required to acquire the information about the current process status table. And (n-1) messages are required to send its priority number to all other processes […] 2 + (n-1) = (n+1)",
		Reading: "StatusTableBully, n processes, every one of them recovers in turn, all others live. Counted: recoveries that take n+1 messages: below the coordinator REQUEST, TABLE, n−1 UPDATE (4.3); above it REQUEST, TABLE, n−1 COORDINATOR (4.4).",
		Measure: func(f *Finding) {
			f.columns("n", "n+1", "recoveries", "4.3, as claimed, of n−1", "4.4, as claimed, of 1")
			for n := 3; n <= 10; n++ {
				below, above := 0, 0
				for k := 1; k <= n; k++ {
					r := f.recovery("StatusTableBully", n, k)
					asked := r.Total == n+1 && r.Messages[election.Request] == 1 && r.Messages[election.StatusTable] == 1
					switch {
					case asked && k < n && r.Messages[election.Update] == n-1:
						below++
					case asked && k == n && r.Messages[election.Coordinator] == n-1 && r.Coordinator == name(n):
						above++
					}
				}
				f.row(n, n+1, n, compare(f, below, n-1), compare(f, above, 1))
			}
		},
	}, {
		Section: "5.2.2 Best case, Table 3",
		Quote:   "In the best case the bully algorithm requires (n-1) processes.",
		Reading: `"Processes" must be messages. Bully, n processes, Pn recovers: n−1 COORDINATOR.`,
		Measure: func(f *Finding) {
			f.series("messages, n−1", 3, 10, func(n int) int { return n - 1 }, func(n int) int { return f.recovery("Bully", n, n).Total })
		},
	}}
}

func example004() []Claim {
	return []Claim{{
		Section: "6.1 Case1",
		Quote:   "In this case the number of messages require is [1(ELCETION) + 1 (OK) + 8 (COORDINAOTR)] =10.",
		Reading: "StatusTableBully, n = 10, P10 crashed, P4 initiates.",
		Measure: func(f *Finding) {
			r := f.afterCrash("StatusTableBully", 10, 4)
			f.columns("ELECTION", "OK", "COORDINATOR", "in all", "elected")
			f.row(compare(f, r.Messages[election.Election], 1), compare(f, r.Messages[election.OK], 1),
				compare(f, r.Messages[election.Coordinator], 8), compare(f, r.Total, 10), compare(f, r.Coordinator, "P9"))
		},
	}, {
		Section: "6.1 Case1",
		Quote:   "in the same scenario the bully algorithm would take 43 messages to complete the election procedure",
		Reading: "Bully, n = 10, P10 crashed, P4 initiates. Convention here: a message sent to a dead process counts. The rows count the same run in three ways.",
		Measure: fortyThree,
		Because: "the seed's 43 leaves out exactly one message that ours sends: P9 → P10 ELECTION. By the seed's own account of bully (5.1.1, \"all the processes except the active process with the highest priority " +
			"[…] perform elections\") P9 asks nobody; by the rule of seeds 000 to 003 it asks P10. Leaving out that one gives 43: 20 ELECTION + 15 OK + 8 COORDINATOR. Leaving out all that go to the dead P10, from P4, P5, P6, P7, P8 and " +
			"P9, gives 38.",
	}, {
		Section: "6.1 Case1",
		Quote:   "43 messages",
		Reading: "The same run, counted as the seed's 5.1.1 counts: without the election of the highest active process.",
		Measure: func(f *Finding) {
			r := f.afterCrash("Bully", 10, 4)
			f.columns("ELECTION but P9's", "OK", "COORDINATOR", "in all")
			left := count(r, func(e scenario.Event) bool { return e.Message.Kind == election.Election && e.Process == "P9" })
			f.row(r.Messages[election.Election]-left, r.Messages[election.OK], r.Messages[election.Coordinator], compare(f, r.Total-left, 43))
		},
		Convention: "P9's own election is left out.",
	}}
}

func fortyThree(f *Finding) {
	r := f.afterCrash("Bully", 10, 4)
	f.columns("counted", "ELECTION", "OK", "COORDINATOR", "in all")
	add := func(what string, counts func(scenario.Event) bool) int {
		kind := func(k election.Kind) int {
			return count(r, func(e scenario.Event) bool { return e.Message.Kind == k && counts(e) })
		}
		all := count(r, counts)
		f.row(what, kind(election.Election), kind(election.OK), kind(election.Coordinator), all)
		return all
	}
	all := add("every message", func(scenario.Event) bool { return true })
	add("without P9 → P10", func(e scenario.Event) bool { return e.Process != "P9" || e.Peer != "P10" })
	add("without all that go to P10", func(e scenario.Event) bool { return e.Peer != "P10" })
	f.row("the seed", "", "", "", "43")
	compare(f, all, 43)
}
