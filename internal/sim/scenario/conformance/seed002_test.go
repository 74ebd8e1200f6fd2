package conformance

import (
	"slices"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// seed002 are the claims of seed 002 (002_c5432f9f245271a6.txt), in small letters and without
// figures, as the scan has them.
func seed002() []Claim {
	return []Claim{{
		Section: "election algorithms",
		Quote:   "both algorithms require n messages for an election where n is the number of processes in the system",
		Reading: "The scan lost the superscript: the book has n². Both are those of this seed, Bully and ActiveListRing. All n live; the most over every single process that takes Pn for failed.",
		Measure: func(f *Finding) {
			f.series("ActiveListRing, n²", 2, 10, func(n int) int { return n * n }, func(n int) int { return f.mostMessages("ActiveListRing", n) })
			f.reckoned("Bully, n²−1", 2, func(n int) int { return n*n - 1 }, func(n int) int { return f.mostMessages("Bully", n) })
		},
		Call:       "--processes 10 --initiator 1",
		Convention: "For the ring n² is the figure: each of n ELECTs travels n links. For bully it is the order: the lowest initiates, n(n−1) ELECTION and OK, and n−1 COORDINATOR, one for each caller.",
	}, {
		Section: "the bully algorithm, the example",
		Quote:   "p and p fail. […] later when p recovers […] p will again be elected […] finally p recovers and notifies […] that it is the current coordinator. p sends no election requests since it is the process with the highest number in the system.",
		Reading: "Reconstructed as in the golden bully_seed002_example.txt: P1 and P4 fail, P2 finds out; P1 recovers; P4 recovers. Counted: who is elected each time, and the ELECTIONs that P4 sends.",
		Measure: theExample,
	}, {
		Section: "the bully algorithm",
		Quote:   "if there are no active processes with higher numbers the recovered process forces all processes with lower numbers to let it become the coordinator process even if there is a currently active coordinator with a lower number",
		Reading: "Five processes: P5 recovers while P4 coordinates. The seed says it of bully; here it is tried on every algorithm.",
		Measure: func(f *Finding) {
			f.columns("algorithm", "all follow", "messages", "after, in link delays")
			for _, algorithm := range election.Algorithms() {
				r := f.recovery(algorithm, 5, 5)
				f.row(algorithm, compare(f, r.Coordinator, "P5"), r.Total, units(r.Finished-late))
			}
		},
	}, {
		Section: "the ring algorithm",
		Quote:   "when the algorithm ends each process maintains its own active list […] can now determine the largest number in the active list to identify the new coordinator process",
		Reading: "ActiveListRing, n processes, Pn crashed, every initiator. Counted: elections in which every live process finds Pn−1 by its own list, with no message but ELECT.",
		Measure: func(f *Finding) {
			f.columns("n", "elections", "all found Pn−1", "kinds of messages")
			for n := 3; n <= 10; n++ {
				found, kinds := 0, map[string]bool{}
				for i := 1; i < n; i++ {
					r := f.afterCrash("ActiveListRing", n, i)
					if r.Coordinator == name(n-1) {
						found++
					}
					for kind := range r.Messages {
						kinds[string(kind)] = true
					}
				}
				f.row(n, n-1, compare(f, found, n-1), compare(f, joined(kinds), "ELECT"))
			}
		},
	}, {
		Section: "the ring algorithm",
		Quote:   "one solution requires a recovering process to send an inquiry message. this message is forwarded around the ring to the current coordinator which in turn sends a reply containing its number",
		Reading: "ActiveListRing, all live but the one that recovers, every one below the coordinator. The scan stops here: the route of the reply is missing. There is one way only in a unidirectional ring, onwards: INQUIRY and REPLY together go once round, n messages. Counted: recoveries that take n messages.",
		Measure: func(f *Finding) {
			f.columns("n", "recoveries", "n messages, and all follow Pn")
			for n := 3; n <= 10; n++ {
				right := 0
				for k := 1; k < n; k++ {
					r := f.recovery("ActiveListRing", n, k)
					if r.Coordinator == name(n) && r.Messages[election.Inquiry]+r.Messages[election.Reply] == n && r.Total == n {
						right++
					}
				}
				f.row(n, n-1, compare(f, right, n-1))
			}
		},
	}}
}

func joined(set map[string]bool) string {
	all := make([]string, 0, len(set))
	for s := range set {
		all = append(all, s)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// mostMessages is the most over every single process of n that all live but the coordinator, which
// has nothing to notice.
func (f *Finding) mostMessages(algorithm string, n int) (most int) {
	for i := n - 1; i > 0; i-- {
		most = max(most, f.notices(algorithm, n, i).Total)
	}
	return most
}

func theExample(f *Finding) {
	r := f.play(scenario.Scenario{
		Algorithm: "Bully", Processes: roster(4), Crashed: names(1, 4), Initiators: names(2),
		Faults: []scenario.Fault{
			{At: 20 * unit, Kind: scenario.Recover, Processes: names(1)},
			{At: 40 * unit, Kind: scenario.Recover, Processes: names(4)},
		},
	})
	f.columns("what happens", "elected", "messages")
	steps := []struct {
		what, want string
		from, to   scenario.Time
	}{
		{"P1 and P4 fail, P2 finds out", "P3", 0, 20 * unit}, {"P1 recovers", "P3", 20 * unit, 40 * unit}, {"P4 recovers", "P4", 40 * unit, late},
	}
	for _, step := range steps {
		part := scenario.Result{}
		last := ""
		for _, e := range r.Events {
			if e.At >= step.from && e.At < step.to {
				part.Events = append(part.Events, e)
				if e.Kind == scenario.Follows {
					last = e.Peer
				}
			}
		}
		f.row(step.what, compare(f, last, step.want), len(sent(part)))
	}
	asked := count(r, func(e scenario.Event) bool { return e.Process == "P4" && e.Message.Kind == election.Election })
	f.row("P4's ELECTIONs", "", compare(f, asked, 0))
}
