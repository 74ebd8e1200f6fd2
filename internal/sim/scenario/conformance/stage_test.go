package conformance

import (
	"fmt"
	"slices"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// unit is a link delay.
const unit = scenario.Unit

// roster is P1 to Pn in ring order, each with its number for priority.
func roster(n int) []election.Process {
	order := make([]int, n)
	for i := range order {
		order[i] = i + 1
	}
	return ordered(order)
}

// ordered is a ring in another order.
func ordered(order []int) []election.Process {
	all := make([]election.Process, 0, len(order))
	for _, i := range order {
		all = append(all, election.Process{Name: name(i), Priority: int32(i)})
	}
	return all
}

func name(i int) string { return fmt.Sprintf("P%d", i) }

func names(numbers ...int) []string {
	all := make([]string, 0, len(numbers))
	for _, i := range numbers {
		all = append(all, name(i))
	}
	return all
}

// play plays a scenario, and notes if it fails.
func (f *Finding) play(s scenario.Scenario) scenario.Result {
	r, err := scenario.Play(s)
	f.newest = &r
	if err != nil {
		f.fail(fmt.Errorf("%s, %d processes, initiators %v: %w", s.Algorithm, len(s.Processes), s.Initiators, err))
	}
	return r
}

// notices plays an election of n processes in which all live and the initiators think otherwise of
// Pn.
func (f *Finding) notices(algorithm string, n int, initiators ...int) scenario.Result {
	return f.play(scenario.Scenario{Algorithm: algorithm, Processes: roster(n), Initiators: names(initiators...)})
}

// afterCrash plays an election of n processes of which Pn, the coordinator, has crashed.
func (f *Finding) afterCrash(algorithm string, n int, initiators ...int) scenario.Result {
	return f.play(scenario.Scenario{
		Algorithm: algorithm, Processes: roster(n), Crashed: names(n), Initiators: names(initiators...),
	})
}

// late is when a process recovers: long after everything else has come to rest.
const late = 300 * unit

// recovery plays the recovery of process k of n while the highest of the others coordinates, and
// returns what happens from then on. Nobody else takes notice, as in the books: no link is seen to
// open, so nobody tells a VIEW.
func (f *Finding) recovery(algorithm string, n, k int) scenario.Result {
	coordinator := n
	if k == n {
		coordinator = n - 1
	}
	r := f.play(scenario.Scenario{
		Algorithm: algorithm, Processes: roster(n), Coordinator: name(coordinator), Crashed: names(k),
		Faults: []scenario.Fault{{At: late, Kind: scenario.Recover, Processes: names(k)}},
	})
	return f.from(r, late)
}

// from is the part of a result from a time on, with its own counts.
func (f *Finding) from(r scenario.Result, at scenario.Time) scenario.Result {
	i := slices.IndexFunc(r.Events, func(e scenario.Event) bool { return e.At >= at })
	if i < 0 {
		f.fail(fmt.Errorf("nothing happens from %s on", units(at)))
		return r
	}
	return since(r, i)
}

// since is the part of a result from event i on, with its own counts.
func since(r scenario.Result, i int) scenario.Result {
	r.Events, r.Total, r.Messages = r.Events[i:], 0, map[election.Kind]int{}
	for _, e := range sent(r) {
		r.Messages[e.Message.Kind]++
		r.Total++
	}
	return r
}

// sent are the messages of the election itself, in the order in which they were sent.
func sent(r scenario.Result) []scenario.Event {
	return slices.DeleteFunc(slices.Clone(r.Events), func(e scenario.Event) bool {
		return e.Kind != scenario.Sent || e.Message.Kind == election.View
	})
}

// count counts the messages that a condition holds for.
func count(r scenario.Result, condition func(scenario.Event) bool) (n int) {
	for _, e := range sent(r) {
		if condition(e) {
			n++
		}
	}
	return n
}

// callers are the processes that sent a message of a kind, in the order of their first.
func callers(r scenario.Result, kind election.Kind) (all []string) {
	for _, e := range sent(r) {
		if e.Message.Kind == kind && !slices.Contains(all, e.Process) {
			all = append(all, e.Process)
		}
	}
	return all
}

// lastArrival is when the last message of the election arrived.
func lastArrival(r scenario.Result) (at scenario.Time) {
	for _, e := range r.Events {
		if (e.Kind == scenario.Delivered || e.Kind == scenario.Lost) && e.Message.Kind != election.View {
			at = e.At
		}
	}
	return at
}

// units writes a time in link delays.
func units(t scenario.Time) string { return fmt.Sprintf("%.4g", float64(t)/float64(unit)) }

// subsets calls do with every set of numbers of 1 to n, but the empty one.
func subsets(n int, do func([]int)) {
	for bits := 1; bits < 1<<n; bits++ {
		var set []int
		for i := range n {
			if bits>>i&1 == 1 {
				set = append(set, i+1)
			}
		}
		do(set)
	}
}

// permutations calls do with every order of 1 to n. The slice is valid during the call.
func permutations(n int, do func([]int)) {
	order := make([]int, n)
	for i := range order {
		order[i] = i + 1
	}
	var place func(int)
	place = func(k int) {
		if k == n {
			do(order)
			return
		}
		for i := k; i < n; i++ {
			order[k], order[i] = order[i], order[k]
			place(k + 1)
			order[k], order[i] = order[i], order[k]
		}
	}
	place(0)
}
