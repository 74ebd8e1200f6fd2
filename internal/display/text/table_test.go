package text

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/podesta-dev/podesta/internal/display"
)

// deployed is a group whose pods have the names that a Deployment gives. Some are not well.
func deployed() display.Group {
	g := group(4)
	names := map[string]string{}
	for i := range g.Processes {
		p := &g.Processes[i]
		names[p.Name] = fmt.Sprintf("checkout-reconciler-7c9f8d6b5-x%dk2p", i)
		p.Name, p.Follows, p.Voter, p.Epoch = names[p.Name], "checkout-reconciler-7c9f8d6b5-x0k2p",
			true, "27996650.1"
	}
	g.Name, g.Coordinator.Name, g.Next.Process = "checkout-reconciler", g.Processes[0].Name,
		g.Processes[1].Name
	g.Coordinator.Epoch = "27996650.1"
	g.Processes[1].Standing = "Unhealthy"
	g.Processes[2].GoneSeconds = 60
	g.Elections = []display.Election{{
		To:        g.Processes[0].Name,
		From:      g.Processes[3].Name,
		Initiator: g.Processes[1].Name,
		Epoch:     "27996650.1",
		Reason:    "CoordinatorUnreachable",
	}}
	return g
}

// TestTablesFit has goldens of tables on terminals of 60, 80 and 120 columns. No line of a table is
// wider than the terminal.
func TestTablesFit(t *testing.T) {
	datadriven.RunTest(t, "testdata/tables.txt", func(t *testing.T, d *datadriven.TestData) string {
		o := Options{Namespaces: true}
		var columns int
		d.ScanArgs(t, "columns", &columns)
		if o.Width = columns - 1; columns == 0 {
			o.Width = 0
		}
		o.Wide, o.NoHeaders = d.HasArg("wide"), d.HasArg("no-headers")
		var b strings.Builder
		if d.Cmd == "list" {
			b.WriteString(List([]display.Group{deployed(), group(3)}, o))
		} else {
			o.processes(&b, deployed())
			b.WriteString("\n")
			o.elections(&b, deployed())
		}
		for line := range strings.Lines(b.String()) {
			if width := cells(strings.TrimRight(line, "\n")); width >= columns && columns > 0 && !o.Wide {
				t.Errorf("%d columns on a terminal of %d: %s", width, columns, line)
			}
		}
		return b.String()
	})
}

// The two ends of a name tell more than its middle.
func TestShortened(t *testing.T) {
	for _, test := range []struct {
		text, want string
		most       int
		name       bool
	}{
		{"checkout-7c9f8d6b5-x1k2p", "checkout-7c9f8d6b5-x1k2p", 24, true},
		{"checkout-7c9f8d6b5-x1k2p", "chec…x1k2p", 10, true},
		{"no: Unhealthy", "no: Unhea…", 10, false},
		{"日本日本日本", "日…本", 6, true},
		{"ab", "…", 1, true},
	} {
		if got := shortened(test.text, test.most, test.name); got != test.want {
			t.Errorf("%s to %d: %s, want %s", test.text, test.most, got, test.want)
		}
	}
}
