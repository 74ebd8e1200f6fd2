package scenario_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

func processes(n int) []election.Process {
	roster := make([]election.Process, n)
	for i := range roster {
		roster[i] = election.Process{Name: fmt.Sprintf("P%d", i+1), Priority: int32(i + 1)}
	}
	return roster
}

const unit, T = scenario.Unit, scenario.T

// Every algorithm, whatever befalls the group: in the end the highest live process coordinates, as
// each seed says.
func TestPlayEveryAlgorithm(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		for name, c := range map[string]struct {
			scenario scenario.Scenario
			want     string
		}{
			"quiet":               {scenario.Scenario{Detect: true}, "P5"},
			"one notices":         {scenario.Scenario{Crashed: []string{"P5"}, Initiators: []string{"P2"}}, "P4"},
			"two notice":          {scenario.Scenario{Crashed: []string{"P5"}, Initiators: []string{"P1", "P3"}}, "P4"},
			"it lives":            {scenario.Scenario{Initiators: []string{"P2"}}, "P5"},
			"two in a row":        {scenario.Scenario{Crashed: []string{"P4", "P5"}, Initiators: []string{"P2"}}, "P3"},
			"detected":            {scenario.Scenario{Crashed: []string{"P5"}, Detect: true}, "P4"},
			"cold":                {scenario.Scenario{Cold: true}, "P5"},
			"cold, one starts":    {scenario.Scenario{Cold: true, Initiators: []string{"P2"}, Detect: true}, "P5"},
			"crash":               {scenario.Scenario{Detect: true, Faults: []scenario.Fault{{At: T, Kind: scenario.Crash, Processes: []string{"P5", "P3"}}}}, "P4"},
			"crash of the winner": {scenario.Scenario{Detect: true, Crashed: []string{"P5"}, Initiators: []string{"P1"}, Faults: []scenario.Fault{{At: 2 * unit, Kind: scenario.Crash, Processes: []string{"P4"}}}}, "P3"},
			"recovery": {scenario.Scenario{Detect: true, Faults: []scenario.Fault{
				{At: 0, Kind: scenario.Crash, Processes: []string{"P5"}}, {At: 20 * T, Kind: scenario.Recover, Processes: []string{"P5"}}}}, "P5"},
			"cut and healed": {scenario.Scenario{Detect: true, Faults: []scenario.Fault{
				{At: 0, Kind: scenario.Cut, Sides: [][]string{{"P1", "P3", "P5"}, {"P2", "P4"}}}, {At: 30 * T, Kind: scenario.Heal}}}, "P5"},
			"alone": {scenario.Scenario{Processes: processes(1), Cold: true}, "P1"},
		} {
			s := c.scenario
			s.Algorithm = algorithm
			if s.Processes == nil {
				s.Processes = processes(5)
			}
			r, err := scenario.Play(s)
			if err != nil || r.Coordinator != c.want {
				t.Errorf("%s, %s: %v, they follow %v, want %s\n%s", algorithm, name, err, r.Coordinators, c.want, lines(r.Events))
			}
			if again, _ := scenario.Play(s); !reflect.DeepEqual(r, again) {
				t.Errorf("%s, %s: played again it differs", algorithm, name)
			}
		}
	}
}

// B6: two coordinators do not need two sides. With only the link between P4 and P5 cut, both
// coordinate for as long as it is cut, under every algorithm, and P5 alone when it is whole again.
func TestOneLinkCut(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		s := scenario.Scenario{
			Algorithm: algorithm, Processes: processes(5), Detect: true, Until: 500 * T,
			Faults: []scenario.Fault{{
				At: unit, Kind: scenario.Cut, Sides: [][]string{{"P1", "P2", "P3", "P4"}, {"P1", "P2", "P3", "P5"}},
			}},
		}
		r, err := scenario.Play(s)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"P1": "P4", "P2": "P4", "P3": "P4", "P4": "P4", "P5": "P5"}
		if !reflect.DeepEqual(r.Coordinators, want) || r.Finished > 20*unit {
			t.Errorf("%s: they follow %v, the last since %d; want %v for good", algorithm, r.Coordinators,
				r.Finished, want)
		}
		s.Faults = append(s.Faults, scenario.Fault{At: 400 * T, Kind: scenario.Heal})
		if r, err = scenario.Play(s); err != nil || r.Coordinator != "P5" {
			t.Errorf("%s: %v; when the link is whole again they follow %v, want P5", algorithm, err, r.Coordinators)
		}
	}
}

func lines(events []scenario.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}
