package sim_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim"
)

// The voters' rules and the nodes, joined: pods come, go and are replaced, agents start with new
// state directories, managers stop, lag and overlap, all the time; and nothing else happens.
func TestMembershipWithNodes(t *testing.T) {
	w := sim.NewWorld()
	changes := 0
	for _, algorithm := range algorithms() {
		for seed := range uint64(share()/40 + 1) {
			if err := w.Run(churn(algorithm, seed)); err != nil {
				t.Error(err)
			}
			changes += w.Rosters
		}
	}
	if changes < 20 {
		t.Errorf("%d rosters were made: this does not try what it says", changes)
	}
}

// churn draws a group whose members change all the time.
func churn(algorithm string, seed uint64) sim.Options {
	o := sim.Options{Algorithm: algorithm, Seed: seed, Guarded: true, Processes: 3 + int(seed%3), Strangers: int(seed % 3),
		Chaos: 200 * sim.T, Gap: 5 * sim.T, Lease: sim.DrawGuarded(algorithm, seed).Lease}
	o.Edit, o.ReplacePod, o.Leave, o.Crash, o.StopManager, o.Strand, o.EditLease = 4, 3, 2, 2, 1, 1, 1
	o.Damaged, o.Refused, o.Slow = 300, 50, 50
	o.Lag, o.Partial, o.Stale, o.Unsure, o.Rate = 5*sim.T, 200, 500, 200, 95
	return o
}

// FuzzMembership lets bytes choose how nasty the world is in which voters change.
func FuzzMembership(f *testing.F) {
	f.Add(uint64(1), uint8(0), uint8(3), uint16(300), uint16(500))
	f.Add(uint64(2), uint8(1), uint8(40), uint16(0), uint16(1000))
	w := sim.NewWorld()
	f.Fuzz(func(t *testing.T, seed uint64, algorithm, gap uint8, damaged, stale uint16) {
		o := churn(election.Algorithms()[int(algorithm)%6], seed)
		o.Gap, o.Damaged, o.Stale = sim.Time(gap)*sim.T/4+sim.T/10, int(damaged)%1000, int(stale)%1000
		o.Lease.Lease = max(o.Lease.Lease, 400*time.Millisecond)
		if err := w.Run(o); err != nil {
			t.Error(err)
		}
	})
}
