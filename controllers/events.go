package controllers

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// notification is an event to be recorded on the group.
type notification struct{ kind, reason, action, note string }

// viewEvents tells what changed between two published views. A row that appears in the table is no change of state.
func viewEvents(was, is v1.ElectionGroupStatus) []notification {
	var all []notification
	states := map[string]v1.ProcessState{}
	for _, row := range was.Processes {
		states[row.Name] = row.State
	}
	var crashed, recovered []string
	for _, row := range is.Processes {
		before, known := states[row.Name]
		switch {
		case known && before != v1.ProcessCrashed && row.State == v1.ProcessCrashed:
			crashed = append(crashed, row.Name)
		case before == v1.ProcessCrashed && (row.State == v1.ProcessNormal || row.State == v1.ProcessCoordinator):
			recovered = append(recovered, row.Name)
		}
	}
	if len(crashed) > 0 {
		note := fmt.Sprintf("%s %s crashed", enumerate(crashed), be(len(crashed)))
		all = append(all, notification{corev1.EventTypeWarning, "ProcessCrashed", "Observe", note})
	}
	if len(recovered) > 0 {
		note := fmt.Sprintf("%s %s back", enumerate(recovered), be(len(recovered)))
		all = append(all, notification{corev1.EventTypeNormal, "ProcessRecovered", "Observe", note})
	}
	return append(all, coordinatorEvents(was, is)...)
}

func coordinatorEvents(was, is v1.ElectionGroupStatus) []notification {
	var all []notification
	before, now := coordinatorName(was), coordinatorName(is)
	if before == now {
		return nil
	}
	if before != "" {
		all = append(all, notification{corev1.EventTypeWarning, "CoordinatorLost", "Observe", lossNote(before, is)})
	}
	if now != "" {
		all = append(all, notification{corev1.EventTypeNormal, "CoordinatorElected", "Elect", electionNote(is)})
	}
	return all
}

func coordinatorName(s v1.ElectionGroupStatus) string {
	if s.Coordinator == nil {
		return ""
	}
	return s.Coordinator.Name
}

func lossNote(name string, is v1.ElectionGroupStatus) string {
	i := slices.IndexFunc(is.Processes, func(row v1.ProcessStatus) bool { return row.Name == name })
	if i < 0 {
		return fmt.Sprintf("%s no longer coordinates: its pod is gone", name)
	}
	return fmt.Sprintf("%s no longer coordinates: it is %s", name, is.Processes[i].State)
}

func electionNote(is v1.ElectionGroupStatus) string {
	note := fmt.Sprintf("%s (priority %d) coordinates", is.Coordinator.Name, ptr.Deref(is.Coordinator.Priority, 0))
	e := is.LastElection
	if e == nil {
		return note
	}
	note += fmt.Sprintf(": elected in %d ms with %d messages", ptr.Deref(e.DurationMilliseconds, 0),
		ptr.Deref(e.Messages, 0))
	if e.Initiator != "" {
		note += ", called by " + e.Initiator
	}
	if e.Reason != "" {
		note += fmt.Sprintf(" (%s)", e.Reason)
	}
	return note
}

// rosterEvent tells who came and who went; nil if nobody did.
func rosterEvent(was, is *v1.RosterStatus) []notification {
	came, went := missing(is, was), missing(was, is)
	if len(came)+len(went) == 0 {
		return nil
	}
	var parts []string
	if len(came) > 0 {
		parts = append(parts, enumerate(came)+" came")
	}
	if len(went) > 0 {
		parts = append(parts, enumerate(went)+" went")
	}
	note := fmt.Sprintf("%s: the group has %d processes (roster generation %d)", strings.Join(parts, ", "),
		len(is.Members), is.Generation)
	return []notification{{corev1.EventTypeNormal, "RosterChanged", "UpdateRoster", note}}
}

// missing are the members of r, by name and UID, that o does not have.
func missing(r, o *v1.RosterStatus) []string {
	var some []string
	if r == nil {
		return nil
	}
	for _, m := range r.Members {
		if o == nil || !slices.ContainsFunc(o.Members,
			func(n v1.RosterMember) bool { return n.Name == m.Name && n.UID == m.UID }) {
			some = append(some, m.Name)
		}
	}
	return some
}
