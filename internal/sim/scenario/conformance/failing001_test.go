package conformance

import (
	"fmt"
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// failing001 are the claims of seed 001 about failures, and about what a coordinator message does.
func failing001() []Claim {
	return []Claim{{
		Section: "Ring-based Elections",
		Quote:   "each process knows its successor and the successor’s successor, and so on (needed in case of failures)",
		Reading: "RingList, eight processes, P8 has crashed and P1 calls the election. P1's next k successors crash with its message on the way; P1 finds out T later (link delay 2.5), and sends it to the next that lives. " +
			"Everybody watches the coordinator. Counted: to whom P1 sends then, and whom all follow.",
		Measure: successors,
	}, {
		Section: "The bully algorithm",
		Quote:   "Allows processes to crash during an election",
		Reading: "Bully, five processes, P5 has crashed, P1 initiates, everybody watches the coordinator. One or two others crash, each at every half link delay from 0.5 to 8. Counted: runs that end with the highest live process.",
		Measure: crashesDuring,
	}, {
		Section: "The bully algorithm",
		Quote:   "If a process pi receives a coordinator message, it sets its variable electedi to the identifier of the coordinator contained within it.",
		Reading: "Bully, n processes, Pn crashed, P1 initiates. Counted: COORDINATORs that arrive, and those that their receiver follows at once.",
		Measure: setsElected,
		Call:    "--processes 10 --crashed 10 --initiator 1",
		Convention: "From above. A candidate that gets COORDINATOR from below calls an election instead, because the one below did not get its answer in time (B1 in the " +
			"[counterexamples](counterexamples.md)); the pages do not say what it should do.",
	}}
}

func successors(f *Finding) {
	f.columns("its successors crash", "then P1 sends to", "all follow")
	for k := 1; k <= 5; k++ {
		dead := names(upTo(k + 1)[1:]...)
		r := f.play(scenario.Scenario{
			Algorithm: "RingList", Processes: roster(8), Crashed: names(8), Initiators: names(1), Detect: true,
			Faults: []scenario.Fault{{At: unit / 2, Kind: scenario.Crash, Processes: dead}},
		})
		next := ""
		for _, e := range sent(r) {
			if e.Process == "P1" && e.At == unit/2+scenario.T {
				next = e.Peer // the last: it finds out about one after the other
			}
		}
		f.row(k, compare(f, next, name(k+2)), compare(f, r.Coordinator, "P7"))
	}
}

func crashesDuring(f *Finding) {
	f.columns("crash during the election", "runs", "end with the highest live process")
	s := scenario.Scenario{
		Algorithm: "Bully", Processes: roster(5), Crashed: names(5), Initiators: names(1), Detect: true,
	}
	at := func(half int, p int) scenario.Fault {
		return scenario.Fault{At: scenario.Time(half) * unit / 2, Kind: scenario.Crash, Processes: names(p)}
	}
	for p := 1; p <= 4; p++ {
		runs, right := 0, 0
		for first := 1; first <= 16; first++ {
			s.Faults = []scenario.Fault{at(first, p)}
			runs++
			if f.play(s).Coordinator == highestBut(p) {
				right++
			}
		}
		f.row(name(p), runs, compare(f, right, runs))
	}
	for p := 1; p <= 4; p++ {
		for q := p + 1; q <= 4; q++ {
			runs, right := 0, 0
			for first := 1; first <= 16; first++ {
				for second := 1; second <= 16; second++ {
					s.Faults = []scenario.Fault{at(first, p), at(second, q)}
					slices.SortStableFunc(s.Faults, func(a, b scenario.Fault) int { return int(a.At - b.At) })
					runs++
					if f.play(s).Coordinator == highestBut(p, q) {
						right++
					}
				}
			}
			f.row(fmt.Sprintf("%s and %s", name(p), name(q)), runs, compare(f, right, runs))
		}
	}
}

// highestBut is the highest of P1 to P4 apart from those.
func highestBut(crashed ...int) string {
	for i := 4; ; i-- {
		if !slices.Contains(crashed, i) {
			return name(i)
		}
	}
}

func setsElected(f *Finding) {
	f.columns("n", "COORDINATORs that arrive, n−2", "followed at once")
	for n := 3; n <= 10; n++ {
		r := f.afterCrash("Bully", n, 1)
		arrived, followed := 0, 0
		for i, e := range r.Events {
			if e.Kind != scenario.Delivered || e.Message.Kind != election.Coordinator {
				continue
			}
			arrived++
			if next := r.Events[min(i+1, len(r.Events)-1)]; next.Kind == scenario.Follows &&
				next.Process == e.Process && next.Peer == e.Message.Process && next.At == e.At {
				followed++
			}
		}
		f.row(n, compare(f, arrived, n-2), compare(f, followed, n-2))
	}
}
