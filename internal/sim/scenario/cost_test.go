package scenario_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/cost"
	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// cost.Messages is what an election takes, at most and exactly, whoever calls it, whether the
// coordinator has failed or was only suspected. The status table's figure is that of a recovery,
// which takes one message more.
func TestCost(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		for n := 2; n <= 10; n++ {
			group, most := processes(n), 0
			for _, down := range [][]string{nil, {group[n-1].Name}} {
				for _, p := range group[:n-1] {
					r, err := scenario.Play(scenario.Scenario{Algorithm: algorithm, Processes: group,
						Crashed: down, Initiators: []string{p.Name}})
					if err != nil {
						t.Fatal(err)
					}
					if r.Total > cost.Messages(algorithm, n) {
						t.Errorf("%s, %d processes, %v down, %s calls: %d messages, want %d at most", algorithm, n,
							down, p.Name, r.Total, cost.Messages(algorithm, n))
					}
					most = max(most, r.Total)
				}
			}
			if algorithm == "StatusTableBully" && n > 2 {
				most++
			}
			if most != cost.Messages(algorithm, n) {
				t.Errorf("%s, %d processes: %d messages, want %d", algorithm, n, most, cost.Messages(algorithm, n))
			}
		}
	}
	if n := cost.Messages("Paxos", 5); n != 0 {
		t.Errorf("an algorithm that there is not costs %d", n)
	}
}
