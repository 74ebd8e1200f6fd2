package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// MaxProcesses is the largest group that can be simulated: that of an ElectionGroup.
const MaxProcesses = 100

// What is simulated if nobody says otherwise.
const (
	DefaultAlgorithm = "Bully"
	DefaultProcesses = 5
)

// Options say what to simulate, as a person writes it. Processes are numbered from 1 in ring order;
// times are in link delays.
type Options struct {
	Algorithm   string
	Processes   int
	Priorities  []int    // of processes 1…N; empty: each process's number
	Coordinator int      // before time 0; 0: the process with the highest priority
	Cold        bool     // nobody coordinates before time 0
	Crashed     []int    // from the beginning
	Initiators  []int    // call an election at time 0
	Crash       []string // P@T
	Recover     []string // P@T
	Unhealthy   []string // P, from the beginning, or P@T
	Healthy     []string // P@T
	Partitions  []string // SIDE|SIDE[|…]@T[-T2]
	Watch       *bool    // every process watches its coordinator; nil: if a fault is timed
	Seed        uint64   // of the delays; 0: each is exactly one link delay
	Until       float64  // 0: until everything is at rest
}

// plan is a scenario under construction, with the numbers that it speaks of.
type plan struct {
	scenario.Scenario
	crashed    []int
	unhealthy  []int
	initiators []int
	problems   []error
}

func (p *plan) complain(format string, args ...any) {
	p.problems = append(p.problems, fmt.Errorf(format, args...))
}

// Scenario checks the options and fills in what they leave open:
//   - The coordinator before time 0 is the process with the highest priority, crashed or not.
//   - If nothing is said to happen, that coordinator has crashed. In a cold group nobody has.
//   - If nobody is said to call an election, and no fault is timed, the live process with the
//     lowest priority does: the worst case of bully. A coordinator whose app is unhealthy calls one
//     itself, and in a cold group all do. With timed faults every process watches its coordinator,
//     as a failure detector would.
//
// Its error lists everything that is wrong, and says what would be right.
func (o Options) Scenario() (scenario.Scenario, error) {
	p := &plan{}
	if !slices.Contains(election.Algorithms(), o.Algorithm) {
		p.complain("--algorithm %q: there is no such algorithm; there are %s", o.Algorithm,
			strings.Join(election.Algorithms(), ", "))
	}
	if o.Processes < 1 || o.Processes > MaxProcesses {
		p.complain("--processes %d: must be 1 to %d", o.Processes, MaxProcesses)
		return scenario.Scenario{}, errors.Join(p.problems...)
	}
	p.Algorithm = o.Algorithm
	if o.Seed != 0 {
		p.Carry = jitter(o.Seed)
	}
	p.group(o)
	p.faults(o)
	p.begin(o)
	return p.Scenario, errors.Join(p.problems...)
}

// group sets who there is, and who coordinates before time 0.
func (p *plan) group(o Options) {
	if len(o.Priorities) != 0 && len(o.Priorities) != o.Processes {
		p.complain("--priorities: %d given for %d processes; give one for each, in the order 1 to %d",
			len(o.Priorities), o.Processes, o.Processes)
	}
	var highest election.Process
	for i := range o.Processes {
		q := election.Process{Name: Name(i + 1), Priority: int32(i + 1)}
		if i < len(o.Priorities) {
			if o.Priorities[i] < 0 || o.Priorities[i] > 1_000_000 {
				p.complain("--priorities: %d for process %d: must be 0 to 1000000 (0 never coordinates)",
					o.Priorities[i], i+1)
				continue
			}
			q.Priority = int32(o.Priorities[i])
		}
		p.Processes = append(p.Processes, q)
		if q.Priority > 0 && (highest.Name == "" || q.Outranks(highest)) {
			highest = q
		}
	}
	if highest.Name == "" && len(p.problems) == 0 {
		p.complain("--priorities: every one is 0, so nobody can coordinate; give a process 1 or more")
	}
	p.coordinator(o, highest.Name)
}

// coordinator sets who coordinates before time 0.
func (p *plan) coordinator(o Options, highest string) {
	switch {
	case o.Coordinator == 0 && o.Cold:
		p.Cold = true
	case o.Coordinator == 0:
		p.Coordinator = highest
	case o.Cold:
		p.complain("--coordinator %d: with --cold nobody coordinates before time 0; leave one of them "+
			"out", o.Coordinator)
	case o.Coordinator < 1 || o.Coordinator > o.Processes:
		p.complain("--coordinator %d: there is no such process; they are numbered 1 to %d", o.Coordinator,
			o.Processes)
	case o.Coordinator <= len(p.Processes) && p.Processes[o.Coordinator-1].Priority == 0:
		p.complain("--coordinator %d: its priority is 0, so it never coordinates", o.Coordinator)
	default:
		p.Coordinator = Name(o.Coordinator)
	}
}

// begin sets who is down at time 0 and who calls an election then.
func (p *plan) begin(o Options) {
	p.crashed = p.numbers("--crashed", o.Crashed, o.Processes)
	p.initiators = p.numbers("--initiator", o.Initiators, o.Processes)
	for _, i := range p.initiators {
		if slices.Contains(p.crashed, i) {
			p.complain("--initiator %d: process %d has crashed (--crashed), so it cannot call an "+
				"election; name a live one", i, i)
		}
	}
	timed := len(p.Faults) > 0
	if len(p.problems) > 0 {
		return
	}
	quiet := len(p.crashed) == 0 && len(p.initiators) == 0 && !timed && !p.coordinatorWithdraws()
	if quiet && p.Coordinator != "" && o.Processes > 1 {
		p.crashed = []int{Number(p.Coordinator)}
	}
	if len(p.crashed) == o.Processes {
		p.complain("--crashed names every process: leave one alive")
		return
	}
	if !p.canEnd() {
		p.complain("nobody is left who can coordinate, so the election would never end: leave a " +
			"healthy process with a priority above 0 alive, or say --until")
		return
	}
	if len(p.initiators) == 0 && !timed && !p.Cold && !p.coordinatorWithdraws() {
		p.initiators = []int{p.lowestLive()}
	}
	if p.Detect = timed; o.Watch != nil {
		p.Detect = *o.Watch
	}
	p.Crashed, p.Unhealthy, p.Initiators = names(p.crashed), names(p.unhealthy), names(p.initiators)
}

// coordinatorWithdraws reports whether the coordinator's app is unhealthy from the beginning, so
// that it calls an election itself.
func (p *plan) coordinatorWithdraws() bool {
	return p.Coordinator != "" && slices.Contains(p.unhealthy, Number(p.Coordinator))
}

// canEnd reports whether somebody is alive in the end who can coordinate, or somebody said when to
// stop.
func (p *plan) canEnd() bool {
	down := map[string]bool{}
	for _, i := range slices.Concat(p.crashed, p.unhealthy) {
		down[Name(i)] = true
	}
	for _, f := range p.Faults {
		for _, name := range f.Processes {
			down[name] = f.Kind == scenario.Crash || f.Kind == scenario.Unhealthy
		}
	}
	return p.Until > 0 || slices.ContainsFunc(p.Processes, func(q election.Process) bool {
		return q.Priority > 0 && !down[q.Name]
	})
}

func (p *plan) lowestLive() int {
	var lowest election.Process
	for _, q := range p.Processes {
		if !slices.Contains(p.crashed, Number(q.Name)) && (lowest.Name == "" || lowest.Outranks(q)) {
			lowest = q
		}
	}
	return Number(lowest.Name)
}

// numbers checks a list of processes.
func (p *plan) numbers(flag string, list []int, n int) []int {
	for _, i := range list {
		if i < 1 || i > n {
			p.complain("%s %d: there is no such process; they are numbered 1 to %d (--processes %d)", flag,
				i, n, n)
		}
	}
	sorted := slices.Clone(list)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

// process reads "4" or "P4".
func process(s string, n int) (int, error) {
	i, err := strconv.Atoi(strings.TrimPrefix(strings.TrimSpace(s), "P"))
	if err != nil {
		return 0, fmt.Errorf("%q is no process: write its number, 1 to %d", s, n)
	}
	if i < 1 || i > n {
		return 0, fmt.Errorf("there is no process %d; they are numbered 1 to %d", i, n)
	}
	return i, nil
}

func time(s string) (scenario.Time, error) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || f < 0 || f > maxTime || f != f {
		return 0, fmt.Errorf("%q is no time: write a number of link delays, 0 to %d", s, maxTime)
	}
	return ticks(f), nil
}

// ticks turns link delays into the simulation's own time, and units turns it back.
func ticks(f float64) scenario.Time { return scenario.Time(f*float64(scenario.Unit) + 0.5) }
func units(t scenario.Time) float64 { return float64(t) / float64(scenario.Unit) }

// Name is how transcripts call a process.
func Name(i int) string { return "P" + strconv.Itoa(i) }

// Number is the number of a process that Name named.
func Number(name string) int {
	i, _ := strconv.Atoi(strings.TrimPrefix(name, "P")) // 0 for what Name did not name
	return i
}

func names(numbers []int) []string {
	all := make([]string, 0, len(numbers))
	for _, i := range numbers {
		all = append(all, Name(i))
	}
	return all
}

func numbersOf(names []string) []int {
	all := make([]int, 0, len(names))
	for _, name := range names {
		all = append(all, Number(name))
	}
	return all
}
