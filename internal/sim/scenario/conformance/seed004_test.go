package conformance

import (
	"errors"
	"fmt"
	"io"
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
		Reading: "StatusTableBully, ten processes, P10 crashed with the k below it, unknown to all; P4 initiates. Counted: ELECTIONs, k and one that is answered; when the winner takes charge, T = 2 later for each that does not answer, and one link delay for the one that does; its COORDINATORs, one to each process below it.",
		Measure: chain,
	}, {
		Section: "4 Algorithm",
		Quote:   "It then initiates an election, by sending an ELECTION message to the process (say) Pj, having priority just below the failed coordinator",
		Reading: "StatusTableBully, n processes, P1 suspects Pn, which has crashed, or lives and is suspected wrongly. Counted: whom P1 asks first, and whom all follow.",
		Measure: justBelow,
		Call:    "--algorithm StatusTableBully --processes 10 --initiator 1",
		Because: "P1 asks Pn itself if its link to it is open: Pn may live, and an election among the others would make a second coordinator. The seed assumes (4) that a coordinator " +
			"that lives answers in time, so that the case does not arise.",
	}, {
		Section: "4.3 Case1",
		Quote:   "Pnew will send its priority number and an UPDATE messages to all other processes in the system, to tell them to update Pnew’s status (from CRASHED to NORMAL) in their own process status table",
		Reading: "StatusTableBully, n processes, P1 crashes and its links close, so that all others show it CRASHED; then it recovers, and nobody's link to it is open yet. Counted: tables that show P1 CRASHED before, and NORMAL after.",
		Measure: updates,
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
		Call: "--algorithm StatusTableBully --processes 10 --coordinator 9 --crashed 10 --recover 10@300 --watch=false",
		Convention: "As long as somebody coordinates. A recovering process that finds nobody to follow does call an election: if the table names a coordinator that its own link shows dead, or if " +
			"its neighbour was electing and no announcement comes within T'.",
	}}
}

func justBelow(f *Finding) {
	f.columns("n", "Pn crashed: P1 asks", "all follow", "Pn lives: P1 asks", "all follow")
	for n := 3; n <= 10; n++ {
		dead := f.afterCrash("StatusTableBully", n, 1)
		alive := f.notices("StatusTableBully", n, 1)
		f.row(n, compare(f, sent(dead)[0].Peer, name(n-1)), compare(f, dead.Coordinator, name(n-1)),
			compare(f, sent(alive)[0].Peer, name(n-1)), compare(f, alive.Coordinator, name(n)))
	}
}

// updates plays 4.3 step by step, as the tables of a scenario that is played as a whole are not
// seen.
func updates(f *Finding) {
	f.columns("n", "tables", "CRASHED before", "NORMAL after")
	for n := 3; n <= 10; n++ {
		g, err := scenario.NewGroup(io.Discard, election.Config{
			Algorithm:   "StatusTableBully",
			Roster:      roster(n),
			Coordinator: name(n),
		})
		if err != nil {
			f.fail(err)
			return
		}
		shown := func(status election.Status) (tables int) {
			for i := 2; i <= n; i++ {
				if g.Machine(name(i)).AppendTable(nil)[0].Status == status {
					tables++
				}
			}
			return tables
		}
		g.Vanish("P1")
		before := shown(election.Crashed)
		if err := errors.Join(g.Recover("P1"), g.Run(10)); err != nil {
			f.fail(err)
		}
		f.row(n, n-1, compare(f, before, n-1), compare(f, shown(election.Normal), n-1))
	}
}

func chain(f *Finding) {
	f.columns("crashed besides P10", "ELECTIONs", "OK", "elected", "takes charge at", "COORDINATOR")
	for k := range 6 {
		crashed := []int{10}
		for i := 1; i <= k; i++ {
			crashed = append(crashed, 10-i)
		}
		r := f.play(scenario.Scenario{
			Algorithm: "StatusTableBully", Processes: roster(10), Crashed: names(crashed...), Initiators: names(4),
		})
		winner, asked, replies, at := name(9-k), k+1, 1, 2*k+1
		if k == 5 { // P5 to P9 are all down: P4 itself takes charge
			asked, replies, at = 5, 0, 10
		}
		f.row(k, compare(f, r.Messages[election.Election], asked), compare(f, r.Messages[election.OK], replies),
			compare(f, r.Coordinator, winner), compare(f, units(electedAt(r, winner)), fmt.Sprint(at)),
			compare(f, r.Messages[election.Coordinator], 8-k))
	}
}

func worst004() []Claim {
	return []Claim{{
		Section: "5.1.1 Worst case",
		Quote:   "altogether (n-2) elections are performed one after the other. That is all the processes except the active process with the highest priority and the coordinator process that has just failed, perform elections",
		Reading: "Bully, n processes, Pn crashed, P1 initiates. Counted: processes that send ELECTION; then without Pn−1.",
		Measure: func(f *Finding) {
			performed := func(n int) []string { return callers(f.afterCrash("Bully", n, 1), election.Election) }
			f.series("elections, n−2", 3, 10, func(n int) int { return n - 2 }, func(n int) int { return len(performed(n)) })
			f.row(append([]any{"without Pn−1"}, overRange(3, 10, func(n int) any {
				return len(slices.DeleteFunc(performed(n), func(p string) bool { return p == name(n-1) }))
			})...)...)
		},
		Call: "--processes 10 --crashed 10 --initiator 1",
		Because: "Pn−1 performs one, too: lower ones ask it, and it has not missed Pn, so by the rule of seeds 000 to 003 it asks Pn, the only one above it, before it elects itself. " +
			"By the seed's account Pn−1 asks nobody, and knows from being asked that Pn has failed; the two readings and their counts are at 6.1. Nor are the elections performed one after the other: " +
			"all whom P1 asks begin in the same instant.",
	}, {
		Section: "5.1.1 Worst case, Table 1",
		Quote:   "in the worst case, the bully algorithm requires O (n²) messages",
		Reading: "Bully, n processes, Pn crashed, P1 initiates. By the rules of 000 to 003: n(n−1)/2 − 1 ELECTION, (n−1)(n−2)/2 OK, n−2 COORDINATOR, which is n² − n − 2 in all.",
		Measure: func(f *Finding) {
			f.reckoned("messages, n²−n−2", 3, func(n int) int { return n*n - n - 2 }, func(n int) int { return f.afterCrash("Bully", n, 1).Total })
		},
		Call:       "--processes 10 --crashed 10 --initiator 1",
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
		Reading: "Bully, n processes, Pn crashed, Pn−1 notices. Counted: all messages; then the same if Pn−1 asks every process above it, as it does when it starts and has missed nobody.",
		Measure: func(f *Finding) {
			f.series("messages, n−2", 3, 10, func(n int) int { return n - 2 }, func(n int) int { return f.afterCrash("Bully", n, n-1).Total })
			f.row(append([]any{"if it asked Pn, too"}, overRange(3, 10, func(n int) any { return f.starts(n, n-1).Total })...)...)
		},
		Call:       "--processes 10 --cold --crashed 10 --initiator 9",
		Convention: "The process that missed the coordinator does not ask it again, as in the example of 002. The seed's \"immediately\" needs that, too: asking would take T.",
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
		Call:       "--processes 10 --crashed 1 --recover 1@300 --watch=false",
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
		Reading: "Bully, n = 10, P10 crashed, P4 initiates. A message sent to a dead process counts. Below it, the readings of the pages that differ in who asks P10.",
		Measure: fortyThree,
		Call:    "--processes 10 --cold --crashed 10 --initiator 4",
		Convention: "P4, which missed P10, does not ask it again; P5 to P9, which did not, do. This is the example of 002, in which the process that missed the coordinator sends one request, to the next, and that one asks " +
			"the coordinator. The account of 5.1.1, by which \"all the processes except the active process with the highest priority […] perform elections\", gives 43 as well, with P4's question and without P9's. " +
			"The rule as 000 to 003 have it in words, \"to every process with a higher priority\", gives 44.",
	}}
}

func fortyThree(f *Finding) {
	f.columns("who asks P10", "ELECTION", "OK", "COORDINATOR", "in all")
	line := func(what string, r scenario.Result, total any, counts func(scenario.Event) bool) {
		kind := func(k election.Kind) int {
			return count(r, func(e scenario.Event) bool { return e.Message.Kind == k && counts(e) })
		}
		f.row(what, kind(election.Election), kind(election.OK), kind(election.Coordinator), total)
	}
	every := func(scenario.Event) bool { return true }
	butP9 := func(e scenario.Event) bool { return e.Process != "P9" || e.Peer != "P10" }
	butP10 := func(e scenario.Event) bool { return e.Peer != "P10" }
	r := f.afterCrash("Bully", 10, 4)
	line("P5 to P9 (what is built)", r, compare(f, count(r, every), 43), every)
	all := f.starts(10, 4)
	line("P4 to P9: all who are below it (000 to 003, in words)", all, count(all, every), every)
	line("P4 to P8: all but P9 (5.1.1)", all, compare(f, count(all, butP9), 43), butP9)
	line("nobody", all, count(all, butP10), butP10)
	f.row("the seed", "", "", "", "43")
}

// starts plays a group of n in which Pn is down and nobody coordinates, and Pi starts: it has
// missed nobody, and asks every process above it.
func (f *Finding) starts(n, i int) scenario.Result {
	return f.play(scenario.Scenario{
		Algorithm: "Bully", Processes: roster(n), Cold: true, Crashed: names(n), Initiators: names(i),
	})
}
