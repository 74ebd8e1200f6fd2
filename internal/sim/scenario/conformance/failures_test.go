package conformance

import (
	"fmt"
	"strings"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// failure is something that goes wrong during an election.
type failure struct {
	what       string
	disturbs   bool
	faults     func(quiet scenario.Result) []scenario.Fault // when they strike is read from the run without them
	initiators []int
	want       string // the highest process that lives in the end
}

func crash(process string, at scenario.Time) []scenario.Fault {
	return []scenario.Fault{{At: at, Kind: scenario.Crash, Processes: []string{process}}}
}

func none(scenario.Result) []scenario.Fault { return nil }

var failures = []failure{
	{"nothing else fails", false, none, []int{1}, "P4"},
	{"two initiators, P1 and P3", false, none, []int{1, 3}, "P4"},
	{"the initiator P1 dies when its first message is under way", true, func(scenario.Result) []scenario.Fault { return crash("P1", unit/2) }, []int{1}, "P4"},
	{"the winner P4 dies just before it announces itself, or its ELECT is round", true, func(quiet scenario.Result) []scenario.Fault {
		return crash("P4", electedAt(quiet, "P4")-1)
	}, []int{1}, "P3"},
	{"the winner P4 dies just after", true, func(quiet scenario.Result) []scenario.Fault {
		return crash("P4", electedAt(quiet, "P4")+1)
	}, []int{1}, "P3"},
	{"who said OK dies just after: P4", true, func(quiet scenario.Result) []scenario.Fault {
		for _, e := range sent(quiet) {
			if e.Message.Kind == election.OK && e.Process == "P4" {
				return crash("P4", e.At+1)
			}
		}
		return nil
	}, []int{1}, "P3"},
	{"P5 recovers later: from then on", true, func(scenario.Result) []scenario.Fault {
		return []scenario.Fault{{At: late, Kind: scenario.Recover, Processes: names(5)}}
	}, []int{1}, "P5"},
	{"P2 dies with the ring's message on its way to it", true, func(quiet scenario.Result) []scenario.Fault {
		if first := sent(quiet)[0]; first.Peer == "P2" {
			return crash("P2", first.At+unit/2)
		}
		return nil
	}, []int{1}, "P4"},
}

// Failures writes figures of what happens beyond the seeds: five processes of which P5, the
// coordinator, has crashed, and failure detectors that find a crash out after T. It fails if any of
// it does not end with all live processes following the highest.
func Failures() (string, error) {
	var b strings.Builder
	for _, algorithm := range election.Algorithms() {
		f := &Finding{}
		f.columns(algorithm, "elected", "messages", "last process follows at")
		for _, c := range failures {
			c.try(f, algorithm)
		}
		if f.err != nil {
			return "", f.err
		}
		if f.wrong > 0 {
			return "", fmt.Errorf("%s does not recover from a failure:\n%s", algorithm, f.table())
		}
		b.WriteString("\n" + f.table())
	}
	return b.String(), nil
}

func (c failure) try(f *Finding, algorithm string) {
	s := scenario.Scenario{
		Algorithm: algorithm, Processes: roster(5), Crashed: names(5), Initiators: names(c.initiators...), Detect: true,
	}
	quiet := f.play(s)
	if f.err != nil {
		return
	}
	s.Faults = c.faults(quiet)
	if len(s.Faults) == 0 {
		if c.disturbs {
			return // the case does not arise
		}
		f.row(c.what, compare(f, quiet.Coordinator, c.want), quiet.Total, units(quiet.Finished))
		return
	}
	r := f.play(s)
	if s.Faults[0].Kind == scenario.Recover {
		f.row(c.what, compare(f, r.Coordinator, c.want), f.from(r, late).Total, units(r.Finished-late))
		return
	}
	f.row(c.what, compare(f, r.Coordinator, c.want), r.Total, units(r.Finished))
}
