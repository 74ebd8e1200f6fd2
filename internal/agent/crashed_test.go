package agent_test

import (
	"testing"
	"time"

	"github.com/podesta-dev/podesta/internal/roster"
	"github.com/podesta-dev/podesta/test/bubble"
)

// A process has crashed if its kernel has closed its links. If nothing comes from it any more, it
// does not answer, and may run.
func TestSilenceIsNoCrash(t *testing.T) {
	for _, safety := range []string{roster.Classic, roster.Guarded} {
		for _, test := range []struct {
			state string
			fault func(g *group)
		}{
			{roster.Crashed, func(g *group) { g.kill("p3") }},
			{roster.NotAnswering, func(g *group) {
				g.cut("p3", true)
				delete(g.agents, "p3")
			}},
		} {
			bubble.Test(t, func(t *testing.T) {
				g := startGroup(t, roster.Roster{Algorithm: "Bully", Safety: safety, Lease: time.Second}, 3)
				defer g.end()
				g.agree("p3")
				p3 := g.agents["p3"]
				test.fault(g)
				g.agree("p2")
				for _, name := range []string{"p1", "p2"} {
					v := g.agents[name].view()
					if got := v.Processes[2].State; got != test.state {
						t.Errorf("%s, at %s: p3 is %s, want %s", safety, name, got, test.state)
					}
				}
				if test.state == roster.NotAnswering {
					g.agents["p3"] = p3
				}
			})
		}
	}
}
