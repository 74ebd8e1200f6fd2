package scenario_test

import (
	"math/rand/v2"
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// Seed 003: an election of n processes takes n(n−1) messages, ELECTION and OK, in the worst case,
// which is that the lowest calls it: each of the n(n−1)/2 pairs exchanges one ELECTION and one OK.
// So it does if all above the caller live, or the coordinator has withdrawn and asks all, or all
// call at once, whatever the delays are: nobody calls a second election because of an ELECTION that
// was sent before its sender learnt the outcome. A coordinator that has withdrawn and each of the
// n−2 below the next one may ask each other; then neither answers.
func TestBullyCostsNoMoreThanThePageSays(t *testing.T) {
	page := func(n int) int { return n * (n - 1) }
	for name, c := range map[string]struct {
		befalls scenario.Scenario
		most    func(n int) int
	}{
		"the coordinator withdraws": {
			scenario.Scenario{Faults: []scenario.Fault{{At: unit, Kind: scenario.Unhealthy}}},
			func(n int) int { return page(n) + n - 2 },
		},
		"the lowest calls":  {scenario.Scenario{Initiators: []string{"P1"}}, page},
		"all start at once": {scenario.Scenario{Cold: true}, page},
	} {
		for _, n := range []int{5, 10, 20} {
			most := 0
			for seed := range uint64(100) {
				most = max(most, asksAndAnswers(t, c.befalls, n, seed))
			}
			t.Logf("%s, %d processes: %d ELECTION and OK at most; the page says %d", name, n, most, page(n))
			if most > c.most(n) {
				t.Errorf("%s, %d processes: %d ELECTION and OK, want %d at most", name, n, most, c.most(n))
			}
		}
	}
}

// asksAndAnswers plays a scenario with n processes and returns how many ELECTION and OK were sent.
// With seed 0 every message takes a unit, otherwise each takes some part of one.
func asksAndAnswers(t *testing.T, s scenario.Scenario, n int, seed uint64) int {
	t.Helper()
	s.Algorithm, s.Processes = "Bully", processes(n)
	want := s.Processes[n-1].Name
	if len(s.Faults) > 0 {
		fault := s.Faults[0]
		fault.Processes = []string{want}
		s.Faults = []scenario.Fault{fault}
		want = s.Processes[n-2].Name
	}
	if seed > 0 {
		s.Carry = func(_, _ string, _ election.Message, sequence int) (scenario.Time, bool) {
			rng := rand.New(rand.NewPCG(seed, uint64(sequence)))
			return 1 + scenario.Time(rng.Int64N(int64(unit))), false
		}
	}
	r, err := scenario.Play(s)
	if err != nil {
		t.Fatal(err)
	}
	if r.Coordinator != want {
		t.Errorf("%d processes, seed %d: they follow %v, want %s", n, seed, r.Coordinators, want)
	}
	return r.Messages[election.Election] + r.Messages[election.OK]
}
