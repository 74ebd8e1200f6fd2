package conformance

import (
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

const (
	introduction = "Election Algorithms"
	rings        = "Election Algorithms for Unidirectional Ring Topologies"
	bullySection = "Bully Algorithm"
)

// seed000 are the claims of seed 000 (000_767854a1324fb4b3.txt).
func seed000() []Claim {
	return append([]Claim{{
		Section: introduction,
		Quote:   "The election algorithm chooses the highest-priority nonfailed process as the new coordinator and announces its id to all nonfailed processes.",
		Reading: "Groups of five: every set of crashed processes that leaves one alive, every live initiator. Counted: elections after which every live process follows the highest live one.",
		Measure: highestLive,
	}, {
		Section: rings,
		Quote:   "This assumption [that failures do not occur during an election] ensures identical results even if two or more processes initiate elections in parallel.",
		Reading: "Five processes, P5 crashed: every set of initiators. The seed says it of its rings; here it is tried on every algorithm. Counted: runs in which all follow P4.",
		Measure: parallelInitiators,
	}}, append(leLannClaims(), append(changRobertsClaims(), bully000())...)...)
}

func highestLive(f *Finding) {
	f.columns("algorithm", "elections", "won by the highest live process")
	for _, algorithm := range election.Algorithms() {
		elections, won := 0, 0
		subsets(5, func(live []int) {
			var crashed []int
			for i := 1; i <= 5; i++ {
				if !slices.Contains(live, i) {
					crashed = append(crashed, i)
				}
			}
			for _, initiator := range live {
				elections++
				r := f.play(scenario.Scenario{
					Algorithm: algorithm, Processes: roster(5), Crashed: names(crashed...), Initiators: names(initiator),
				})
				if r.Coordinator == name(slices.Max(live)) {
					won++
				}
			}
		})
		f.row(algorithm, elections, compare(f, won, elections))
	}
}

func parallelInitiators(f *Finding) {
	f.columns("algorithm", "sets of initiators", "all follow P4")
	for _, algorithm := range election.Algorithms() {
		runs, same := 0, 0
		subsets(4, func(initiators []int) {
			runs++
			if f.afterCrash(algorithm, 5, initiators...).Coordinator == "P4" {
				same++
			}
		})
		f.row(algorithm, runs, compare(f, same, runs))
	}
}

func leLannClaims() []Claim {
	return []Claim{{
		Section: rings,
		Quote:   `These messages reach process Pi such that the ("elect me", Pi) message follows all the other messages.`,
		Reading: "LeLann, one initiator, every initiator of n processes that all live. Counted: elections in which the last ELECT ME that reaches the initiator is its own, after n−1 others.",
		Measure: ownComesLast,
	}, {
		Section: rings,
		Quote:   "The algorithm requires an order of n2 messages per election.",
		Reading: "LeLann, all live, one initiator; the same for every initiator. ELECT ME: the initiator's own travels n links, and that of a process d links after it travels the n−d that are left, n(n+1)/2 in all. NEW COORDINATOR: n. So the order is n², and the figure is (n²+3n)/2.",
		Measure: func(f *Finding) {
			f.reckoned("messages, (n²+3n)/2", 2, func(n int) int { return (n*n + 3*n) / 2 },
				func(n int) int { return f.notices("LeLann", n, 1).Total })
			f.reckoned("messages of n initiators at once, n(n²+3n)/2", 2, func(n int) int { return n * (n*n + 3*n) / 2 },
				func(n int) int { return f.notices("LeLann", n, upTo(n)...).Total })
		},
		Call:       "--algorithm LeLann --processes 10 --initiator 1,2,3,4,5,6,7,8,9,10",
		Convention: `"Per election": k initiators hold k elections, and the messages are k times as many, of order n³ when all initiate.`,
	}, {
		Section: rings,
		Quote:   "the control part of a failed process continues to function and simply forwards each received message along its out-edge",
		Reading: "Both rings of this seed, n processes; the app of Pn, the coordinator, fails while its agent lives on: the process withdraws and calls the election. Counted: whom all follow, and how many messages of others Pn forwards.",
		Measure: failedForwards,
	}}
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

func ownComesLast(f *Finding) {
	f.columns("n", "initiators", "own ELECT ME comes last, after n−1 others")
	for n := 2; n <= 10; n++ {
		right := 0
		for i := 1; i <= n; i++ {
			var about []string
			for _, e := range f.notices("LeLann", n, i).Events {
				if e.Kind == scenario.Delivered && e.Process == name(i) && e.Message.Kind == election.ElectMe {
					about = append(about, e.Message.Process)
				}
			}
			if len(about) == n && slices.Index(about, name(i)) == n-1 {
				right++
			}
		}
		f.row(n, n, compare(f, right, n))
	}
}

func failedForwards(f *Finding) {
	f.columns("algorithm", "n", "coordinator", "forwarded by Pn", "messages")
	for _, algorithm := range []string{"LeLann", "ChangRoberts"} {
		for n := 3; n <= 6; n++ {
			r := f.play(scenario.Scenario{
				Algorithm: algorithm, Processes: roster(n), Unhealthy: names(n),
			})
			forwarded := count(r, func(e scenario.Event) bool {
				return e.Process == name(n) && e.Message.Process != "" && e.Message.Process != name(n)
			})
			compare(f, forwarded > 0, true)
			f.row(algorithm, n, compare(f, r.Coordinator, name(n-1)), forwarded, r.Total)
		}
	}
}

func changRobertsClaims() []Claim {
	return []Claim{{
		Section: rings,
		Quote:   `A process Pj that receives an ("elect me", Pi) message sends out only one message--it sends an ("elect me", Pj) message to start a new election if its own priority is higher than that of Pi; otherwise, it simply forwards the ("elect me", Pi) message.`,
		Reading: "ChangRoberts, all live, every initiator, and all of them at once. Counted: ELECT MEs that are received, and how many messages a process sends on receiving one.",
		Measure: onlyOneMessage,
		Call:    "--algorithm ChangRoberts --processes 10 --initiator 1,2,3,4,5,6,7,8,9,10",
		Convention: "A process calls one election at a time: with several initiators, an ELECT ME from below ends at a process whose own is under way. " +
			"The process that gets its own back sends NEW COORDINATOR.",
	}, {
		Section: rings,
		Quote:   `only the highest-priority nonfailed process Phigh would get back its own "elect me" message`,
		Reading: "ChangRoberts, all live, every order of the ring and every initiator. Counted: elections in which exactly one process gets its own ELECT ME back, and it is Pn.",
		Measure: func(f *Finding) {
			f.columns("n", "elections", "only Pn gets its own back")
			for n := 2; n <= 6; n++ {
				elections, right := 0, 0
				everyRing(f, n, func(_ []int, r scenario.Result) {
					elections++
					if slices.Equal(gotOwnBack(r), names(n)) {
						right++
					}
				})
				f.row(n, elections, compare(f, right, elections))
			}
		},
	}, {
		Section: rings,
		Quote:   "the number of messages per election can be a maximum of 3n - 1",
		Reading: "ChangRoberts, all live, one initiator: the most over every order of the ring and every initiator. The worst ring is that of the golden changroberts_seed000_worst_case.txt: the initiator is the second highest and stands right after the highest.",
		Measure: func(f *Finding) {
			f.series("messages at most, 3n−1", 2, 6, func(n int) int { return 3*n - 1 }, func(n int) (most int) {
				everyRing(f, n, func(_ []int, r scenario.Result) { most = max(most, r.Total) })
				return max(most, worstRing(f, n).Total)
			})
		},
	}, {
		Section: rings,
		Quote:   `The ("elect me", Pi) message […] needs a maximum of n - 1 messages to reach the highest-priority process. The election initiated by the highest-priority process requires n messages to complete, and another n messages are required to inform every process`,
		Reading: "The same worst ring, n up to 10: ELECT ME that do not name Pn, those that do, NEW COORDINATOR.",
		Measure: worstRingInParts,
	}, {
		Section: rings,
		Quote:   "The time consumed by the election could be as high as (3n - 1) × twc",
		Reading: "The same worst ring, twc = one link delay: when the last message arrives. The last process learns of the outcome one link earlier.",
		Measure: func(f *Finding) {
			f.series("link delays, 3n−1", 2, 10, func(n int) int { return 3*n - 1 },
				func(n int) int { return int(lastArrival(worstRing(f, n)) / unit) })
		},
	}, {
		Section: rings,
		Quote:   "All other processes abandon their elections, if any, when they receive the (\"new coordinator\", Phigh) message.",
		Reading: "ChangRoberts, n processes, all of them initiate at once. Counted: processes that follow Pn in the end, and NEW COORDINATOR messages, which are n only if nobody else completed an election.",
		Measure: func(f *Finding) {
			f.columns("n", "follow Pn", "NEW COORDINATOR", "messages")
			for n := 2; n <= 10; n++ {
				r := f.notices("ChangRoberts", n, upTo(n)...)
				following := 0
				for _, c := range r.Coordinators {
					if c == name(n) {
						following++
					}
				}
				f.row(n, compare(f, following, n), compare(f, r.Messages[election.NewCoordinator], n), r.Total)
			}
		},
	}}
}

func onlyOneMessage(f *Finding) {
	f.columns("n", "received, one initiator", "answered by one message", "received, n initiators", "by one or none")
	for n := 2; n <= 10; n++ {
		alone, one := 0, 0
		for i := 1; i <= n; i++ {
			for _, sent := range answers(f.notices("ChangRoberts", n, i), election.ElectMe) {
				alone++
				if sent == 1 {
					one++
				}
			}
		}
		together, few := 0, 0
		for _, sent := range answers(f.notices("ChangRoberts", n, upTo(n)...), election.ElectMe) {
			together++
			if sent <= 1 {
				few++
			}
		}
		f.row(n, alone, compare(f, one, alone), together, compare(f, few, together))
	}
}

// answers returns, for each message of a kind that arrives, how many messages its receiver sends
// because of it.
func answers(r scenario.Result, kind election.Kind) (all []int) {
	for i, e := range r.Events {
		if e.Kind != scenario.Delivered || e.Message.Kind != kind {
			continue
		}
		sent := 0
		for _, next := range r.Events[i+1:] {
			if next.Kind != scenario.Sent {
				break
			}
			if next.Message.Kind != election.View {
				sent++
			}
		}
		all = append(all, sent)
	}
	return all
}

// everyRing plays one election in every ring of n processes, by every initiator. Turned rings are
// played, too: a ring has no first process, so they check that turning changes nothing.
func everyRing(f *Finding, n int, do func(order []int, r scenario.Result)) {
	permutations(n, func(order []int) {
		for i := 1; i <= n; i++ {
			do(order, f.play(scenario.Scenario{Algorithm: "ChangRoberts", Processes: ordered(order), Initiators: names(i)}))
		}
	})
}

func worstRing(f *Finding, n int) scenario.Result {
	order := make([]int, n)
	for i := range order {
		order[i] = n - 1 - i
	}
	order[n-1] = n
	return f.play(scenario.Scenario{Algorithm: "ChangRoberts", Processes: ordered(order), Initiators: names(n - 1)})
}

func worstRingInParts(f *Finding) {
	f.columns("n", "to reach Pn, at most n−1", "to complete, n", "to inform, n")
	for n := 2; n <= 10; n++ {
		r := worstRing(f, n)
		own := count(r, func(e scenario.Event) bool {
			return e.Message.Kind == election.ElectMe && e.Message.Process == name(n)
		})
		f.row(n, compare(f, r.Messages[election.ElectMe]-own, n-1), compare(f, own, n), compare(f, r.Messages[election.NewCoordinator], n))
	}
}

func gotOwnBack(r scenario.Result) (all []string) {
	for _, e := range r.Events {
		if e.Kind == scenario.Delivered && e.Message.Kind == election.ElectMe && e.Message.Process == e.Process {
			all = append(all, e.Process)
		}
	}
	return all
}
