package electiontest_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/election/electiontest"
)

func processes(n int) []election.Process {
	roster := make([]election.Process, n)
	for i := range roster {
		roster[i] = election.Process{Name: fmt.Sprintf("P%d", i+1), Priority: int32(i + 1)}
	}
	return roster
}

const unit, T = electiontest.Unit, electiontest.T

// The examples of seed 004: ten processes, P10 has failed, P4 finds out.
func TestPlaySeed004(t *testing.T) {
	for algorithm, want := range map[string]int{"Bully": 44, "StatusTableBully": 10} {
		r, err := electiontest.Play(electiontest.Scenario{
			Algorithm: algorithm, Processes: processes(10), Crashed: []string{"P10"}, Initiators: []string{"P4"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if r.Total != want || r.Coordinator != "P9" {
			t.Errorf("%s: %d messages elect %q, want %d and P9\n%v", algorithm, r.Total, r.Coordinator, want, r.Messages)
		}
	}
}

// Every algorithm, whatever befalls the group: in the end the highest live process coordinates, as each seed says.
func TestPlayEveryAlgorithm(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		for name, c := range map[string]struct {
			scenario electiontest.Scenario
			want     string
		}{
			"quiet":               {electiontest.Scenario{Detect: true}, "P5"},
			"one notices":         {electiontest.Scenario{Crashed: []string{"P5"}, Initiators: []string{"P2"}}, "P4"},
			"two notice":          {electiontest.Scenario{Crashed: []string{"P5"}, Initiators: []string{"P1", "P3"}}, "P4"},
			"it lives":            {electiontest.Scenario{Initiators: []string{"P2"}}, "P5"},
			"two in a row":        {electiontest.Scenario{Crashed: []string{"P4", "P5"}, Initiators: []string{"P2"}}, "P3"},
			"detected":            {electiontest.Scenario{Crashed: []string{"P5"}, Detect: true}, "P4"},
			"cold":                {electiontest.Scenario{Cold: true}, "P5"},
			"cold, one starts":    {electiontest.Scenario{Cold: true, Initiators: []string{"P2"}, Detect: true}, "P5"},
			"crash":               {electiontest.Scenario{Detect: true, Faults: []electiontest.Fault{{At: T, Kind: electiontest.Crash, Processes: []string{"P5", "P3"}}}}, "P4"},
			"crash of the winner": {electiontest.Scenario{Detect: true, Crashed: []string{"P5"}, Initiators: []string{"P1"}, Faults: []electiontest.Fault{{At: 2 * unit, Kind: electiontest.Crash, Processes: []string{"P4"}}}}, "P3"},
			"recovery": {electiontest.Scenario{Detect: true, Faults: []electiontest.Fault{
				{At: 0, Kind: electiontest.Crash, Processes: []string{"P5"}}, {At: 20 * T, Kind: electiontest.Recover, Processes: []string{"P5"}}}}, "P5"},
			"cut and healed": {electiontest.Scenario{Detect: true, Faults: []electiontest.Fault{
				{At: 0, Kind: electiontest.Cut, Sides: [][]string{{"P1", "P3", "P5"}, {"P2", "P4"}}}, {At: 30 * T, Kind: electiontest.Heal}}}, "P5"},
			"alone": {electiontest.Scenario{Processes: processes(1), Cold: true}, "P1"},
		} {
			s := c.scenario
			s.Algorithm = algorithm
			if s.Processes == nil {
				s.Processes = processes(5)
			}
			r, err := electiontest.Play(s)
			if err != nil || r.Coordinator != c.want {
				t.Errorf("%s, %s: %v, they follow %v, want %s\n%s", algorithm, name, err, r.Coordinators, c.want, lines(r.Events))
			}
			if again, _ := electiontest.Play(s); !reflect.DeepEqual(r, again) {
				t.Errorf("%s, %s: played again it differs", algorithm, name)
			}
		}
	}
}

func lines(events []electiontest.Event) string {
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}
