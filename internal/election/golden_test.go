package election_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/sim/scenario"
)

// TestGolden plays the conversations in testdata, each a figure or an example of a seed. -rewrite
// writes the messages that are sent now.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if !strings.HasSuffix(path, ".txt") { // what fuzzing has found
			return
		}
		var g *scenario.Group
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			if d.Cmd == "group" {
				g = group(t, d, &out)
				return said(&out)
			}
			play(t, g, d)
			return said(g.Out().(*strings.Builder))
		})
	})
}

// play carries out one line of a script.
func play(t *testing.T, g *scenario.Group, d *datadriven.TestData) {
	g.Out().(*strings.Builder).Reset()
	names := make([]string, 0, len(d.CmdArgs))
	for _, arg := range d.CmdArgs {
		names = append(names, arg.Key)
	}
	var err error
	switch d.Cmd {
	case "crash":
		g.Crash(names...)
	case "vanish":
		g.Vanish(names...)
	case "notice": // the links of processes that have crashed are found closed
		each(names, func(p string) {
			g.Tell(election.Event{Type: election.PeerDown, Process: p})
		})
	case "ill": // the app fails, but the control part continues
		each(names, func(p string) { g.Do(p, election.Event{Type: election.Withdraw}) })
	case "well":
		each(names, func(p string) { g.Do(p, election.Event{Type: election.Restore}) })
	case "suspect":
		each(names, g.Suspect)
	case "recover":
		each(names, func(p string) { err = g.Recover(p) })
	case "link": // a link opens, in both directions
		g.Do(names[0], election.Event{Type: election.PeerUp, Process: names[1]})
		g.Do(names[1], election.Event{Type: election.PeerUp, Process: names[0]})
	case "deliver":
		err = g.Deliver()
	case "expire":
		g.Expire()
	case "run":
		err = g.Run(100)
	case "count":
		g.Count()
	case "table":
		for _, p := range names {
			printTable(g, p)
		}
	default:
		d.Fatalf(t, "unknown command %q", d.Cmd)
	}
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
}

func each(names []string, do func(string)) {
	for _, name := range names {
		do(name)
	}
}

// group reads `group algorithm=Bully n=4 coordinator=P4`: processes P1 to Pn with priorities 1 to
// n; or `ring=(P3,P1,P2)` for another order of the ring.
func group(t *testing.T, d *datadriven.TestData, out *strings.Builder) *scenario.Group {
	var n int
	var c election.Config
	d.ScanArgs(t, "algorithm", &c.Algorithm)
	d.MaybeScanArgs(t, "n", &n)
	d.MaybeScanArgs(t, "coordinator", &c.Coordinator)
	for i := range n {
		c.Roster = append(c.Roster, election.Process{Name: fmt.Sprintf("P%d", i+1), Priority: int32(i + 1)})
	}
	for _, arg := range d.CmdArgs {
		if arg.Key == "ring" {
			c.Roster = ringOf(arg.Vals)
		}
	}
	g, err := scenario.NewGroup(out, c)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return g
}

// ringOf returns processes in this order. If there is a P0, as in seed 003, every priority is the
// number plus one, because a process with priority 0 would never coordinate.
func ringOf(names []string) []election.Process {
	roster, offset := make([]election.Process, 0, len(names)), int32(0)
	if slices.Contains(names, "P0") {
		offset = 1
	}
	for _, name := range names {
		var number int32
		fmt.Sscanf(name, "P%d", &number)
		roster = append(roster, election.Process{Name: name, Priority: number + offset})
	}
	return roster
}

func printTable(g *scenario.Group, name string) {
	out := g.Out().(*strings.Builder)
	if g.Machine(name) == nil {
		fmt.Fprintf(out, "%s is down\n", name)
		return
	}
	fmt.Fprintf(out, "the process status table of %s\n", name)
	for _, e := range g.Machine(name).AppendTable(nil) {
		fmt.Fprintf(out, "%-4s %s\n", e.Name, e.Status)
	}
}

func said(out *strings.Builder) string {
	if out.Len() == 0 {
		return "ok\n"
	}
	return out.String()
}
