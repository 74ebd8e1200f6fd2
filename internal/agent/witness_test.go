package agent_test

import (
	"testing"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

// startPair starts two replicas, p3 above p2, and a witness, p1: a voter with priority 0.
func startPair(t *testing.T, algorithm string) *group {
	g := startGroup(t, guarded(algorithm, roster.Always), 3, func(g *group) { g.roster.Processes[0].Priority = 0 })
	g.acts("p3")
	g.agree("p3")
	return g
}

// Two replicas and a witness, agents as they ship, with every algorithm: the other replica may act
// when the coordinator is killed or cut off, and the first again when the cut has healed.
func TestTwoReplicasAndAWitness(t *testing.T) {
	for _, algorithm := range election.Algorithms() {
		for name, fail := range map[string]func(*group){
			"killed":  func(g *group) { g.vanish("p3") },
			"cut off": func(g *group) { g.cut("p3", true) },
		} {
			t.Run(algorithm+" "+name, func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					g := startPair(t, algorithm)
					fail(g)
					took := g.acts("p2")
					t.Logf("p2 acts after %v", took)
					if took > 2*leaseTime {
						t.Errorf("failover took %v, with a lease of %v", took, leaseTime)
					}
					if name == "cut off" {
						g.cut("p3", false)
						g.acts("p3")
						g.agree("p3")
					}
				})
			})
		}
	}
}
