package lease_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/podesta-dev/podesta/internal/lease"
)

// TestGolden plays the conversations in testdata. -rewrite writes what is said now.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.HasSuffix(path, ".txt") { // what fuzzing has found
			return
		}
		var g *play
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "group" {
				g = scriptedGroup(t, d)
			} else {
				command(t, g, d)
			}
			said := g.out.String()
			g.out.Reset()
			if names := g.acting(); len(names) > 1 {
				t.Fatalf("%s: G1: %v may act", d.Pos, names)
			}
			if said == "" {
				return "ok\n"
			}
			return said
		})
	})
}

func scriptedGroup(t *testing.T, d *datadriven.TestData) *play {
	n, policy, stable := 3, string(lease.Never), 0
	d.MaybeScanArgs(t, "n", &n)
	d.MaybeScanArgs(t, "preemption", &policy)
	d.MaybeScanArgs(t, "stable", &stable)
	r := rosterOf(n)
	r.Preemption, r.Stable = lease.Policy(policy), time.Duration(stable)*time.Second
	g := newPlay(r, d.HasArg("new"))
	for _, a := range g.actors {
		a.session = d.HasArg("sessions")
	}
	return g
}

// command carries out one line of a script.
func command(t *testing.T, g *play, d *datadriven.TestData) {
	var names, at []string
	amount := 0
	for _, arg := range d.CmdArgs {
		switch n, err := strconv.Atoi(arg.Key); {
		case err == nil:
			amount = n
		case arg.Key == "at":
			at = arg.Vals
		case strings.HasPrefix(arg.Key, "P"):
			names = append(names, arg.Key)
		}
	}
	switch d.Cmd {
	case "nominate":
		g.nominate(names[0], at...)
	case "run": // milliseconds
		g.run(time.Duration(amount) * ms)
	case "kill":
		g.kill(names[0])
	case "restart":
		g.restart(names[0], d.HasArg("without-memory"))
	case "cut", "join":
		for _, q := range names[1:] {
			g.part(names[0], q, d.Cmd == "cut")
		}
	case "ill", "well":
		g.actor(names[0]).ill = d.Cmd == "ill"
		g.step(
			g.actor(names[0]),
			lease.Event{
				Type: map[string]lease.EventType{"ill": lease.Withdrawn,
					"well": lease.Restored}[d.Cmd],
			},
		)
	case "suspect":
		g.step(g.actor(at[0]), lease.Event{Type: lease.Suspected, Process: names[0]})
	case "roster":
		if len(d.CmdArgs) > 0 {
			g.roster = scriptedRoster(g.roster, d)
		}
		g.enrol(g.roster, at...)
	case "who":
		who(g)
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
}

// scriptedRoster is the next generation: `unseat=P3`, `seat=P3`, `zero=P3`.
func scriptedRoster(r *lease.Roster, d *datadriven.TestData) *lease.Roster {
	return next(r, func(r *lease.Roster) {
		for _, arg := range d.CmdArgs {
			for i := range r.Members {
				if len(arg.Vals) == 0 || r.Members[i].Name != arg.Vals[0] {
					continue
				}
				switch arg.Key {
				case "unseat":
					r.Members[i].Voter = false
				case "seat":
					r.Members[i].Voter = true
				case "zero":
					r.Members[i].Priority = 0
				}
			}
		}
	})
}

// who says whom everybody follows, and who may act.
func who(g *play) {
	for _, a := range g.actors {
		if a.down {
			fmt.Fprintf(&g.out, "      %s is down\n", a.incarnation.Name)
			continue
		}
		holder, epoch, bound := a.Following()
		fmt.Fprintf(&g.out, "      %s %-10s", a.incarnation.Name, a.Phase())
		if holder != "" {
			fmt.Fprintf(&g.out, " %s %s", holder, epoch)
			if !bound {
				g.out.WriteString(" unbound")
			}
		}
		g.out.WriteString("\n")
	}
	fmt.Fprintf(&g.out, "      may act: %v\n", g.acting())
}
