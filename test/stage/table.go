package stage

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
)

// Table writes the process status table of a group, for people.
func Table(g *v1.ElectionGroup) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "  PROCESS\tPRIORITY\tSTATE\tFOLLOWS\tEPOCH")
	for _, p := range g.Status.Processes {
		follows, under := g.Status.Followed(&p)
		epoch := ""
		if under > 0 {
			epoch = lease.Epoch(under).String()
		}
		fmt.Fprintf(w, "  %s\t%d\t%s\t%s\t%s\n", p.Name, ptr.Deref(p.Priority, 0), p.State, follows,
			epoch)
	}
	_ = w.Flush() // a strings.Builder does not fail
	return b.String()
}

// State is the state of a process in a group's table; empty if it has no row.
func State(g *v1.ElectionGroup, process string) v1.ProcessState {
	for _, p := range g.Status.Processes {
		if p.Name == process {
			return p.State
		}
	}
	return ""
}

// Coordinates reports whether the status shows the process as the coordinator everywhere: in
// status.coordinator, in its row, and in the row of every process that is alive.
func Coordinates(g *v1.ElectionGroup, process string) bool {
	if g.Status.Coordinator == nil || g.Status.Coordinator.Name != process ||
		State(g, process) != v1.ProcessCoordinator {
		return false
	}
	for _, p := range g.Status.Processes {
		if follows, _ := g.Status.Followed(&p); p.State == v1.ProcessNormal && follows != process {
			return false
		}
	}
	return true
}
