package group

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
)

// notification is an event to be recorded on the group.
type notification struct{ kind, reason, action, note string }

// statusEvents tells what changed between two published statuses. A row that appears in the table
// is no change of state. Asked says which processes were asked to end (see endings).
func statusEvents(was, is v1.ElectionGroupStatus,
	asked map[string]v1.ElectionReason) []notification {
	var all []notification
	states := map[string]v1.ProcessState{}
	for _, row := range was.Processes {
		states[row.Name] = row.State
	}
	var crashed, silent, ended, recovered []string
	for _, row := range is.Processes {
		before, known := states[row.Name]
		why, wanted := asked[row.Name]
		switch {
		case !known || before == row.State:
		case row.State == v1.ProcessCrashed && wanted && why != v1.ReasonSteppedDown:
			ended = append(ended, row.Name)
		case row.State == v1.ProcessCrashed:
			crashed = append(crashed, row.Name)
		case row.State == v1.ProcessNotAnswering:
			silent = append(silent, row.Name)
		case (before == v1.ProcessCrashed || before == v1.ProcessNotAnswering) &&
			(row.State == v1.ProcessNormal || row.State == v1.ProcessCoordinator):
			recovered = append(recovered, row.Name)
		}
	}
	observed := func(kind, reason string, names []string, one, many string) {
		if len(names) > 0 {
			all = append(all, notification{kind, reason, "Observe",
				enumerate(names) + " " + plural(len(names), one, many)})
		}
	}
	observed(corev1.EventTypeWarning, "ProcessCrashed", crashed, "has crashed", "have crashed")
	observed(corev1.EventTypeWarning, "ProcessNotAnswering", silent,
		"does not answer, but may still run", "do not answer, but may still run")
	observed(corev1.EventTypeNormal, "ProcessEnded", ended, "has ended, as it was asked to",
		"have ended, as they were asked to")
	observed(corev1.EventTypeNormal, "ProcessRecovered", recovered, "has recovered", "have recovered")
	return slices.Concat(all, coordinatorEvents(was, is, asked), stalledEvents(was, is))
}

// stalledEvents tells that nothing will change until a user acts, once for each reason.
func stalledEvents(was, is v1.ElectionGroupStatus) []notification {
	before, now := stalledIn(was), stalledIn(is)
	if now == nil || before != nil && before.Reason == now.Reason {
		return nil
	}
	return []notification{{corev1.EventTypeWarning, now.Reason, "Observe", now.Message}}
}

// stalledIn returns the condition Stalled of a status if it is True, else nil.
func stalledIn(s v1.ElectionGroupStatus) *metav1.Condition {
	if c := meta.FindStatusCondition(s.Conditions, v1.ConditionStalled); c != nil &&
		c.Status == metav1.ConditionTrue {
		return c
	}
	return nil
}

// longestNote is the most bytes that an event's note may have.
const longestNote = 1024

// shorten cuts a note that names long names to what an event holds.
func shorten(note string) string {
	const more = "…"
	if len(note) <= longestNote {
		return note
	}
	return strings.ToValidUTF8(note[:longestNote-len(more)], "") + more
}

// coordinatorEvents tells that the coordinator is another one. That an earlier one is gone is a
// warning, unless it was wanted: then the event has the reason of the election.
func coordinatorEvents(was, is v1.ElectionGroupStatus,
	asked map[string]v1.ElectionReason) []notification {
	var all []notification
	before, now := coordinatorName(was), coordinatorName(is)
	if before == now {
		return nil
	}
	reason := asked[before]
	if now != "" && len(is.Elections) > 0 && is.Elections[0].From == before &&
		plannedReasons[is.Elections[0].Reason] != "" {
		reason = is.Elections[0].Reason
	}
	switch why, planned := plannedReasons[reason]; {
	case before == "":
	case planned:
		all = append(all, notification{corev1.EventTypeNormal, string(reason), "Observe",
			lossOf(was) + ": " + why})
	default:
		all = append(all, notification{corev1.EventTypeWarning, "CoordinatorLost", "Observe",
			lossOf(was) + ": " + lossNote(was, is)})
	}
	if now != "" {
		all = append(all,
			notification{corev1.EventTypeNormal, "CoordinatorElected", "Elect", electionNote(is)})
	}
	return all
}

// epochOf returns the epoch of the published coordinator; zero if there is none, and in Classic
// groups.
func epochOf(s v1.ElectionGroupStatus) int64 {
	if s.Coordinator == nil {
		return 0
	}
	return s.Coordinator.Epoch
}

func coordinatorName(s v1.ElectionGroupStatus) string {
	if s.Coordinator == nil {
		return ""
	}
	return s.Coordinator.Name
}

func lossOf(was v1.ElectionGroupStatus) string {
	return fmt.Sprintf("%s is no longer the coordinator%s", coordinatorName(was),
		underEpoch(epochOf(was)))
}

// lossNote says what is known of the process that was the coordinator.
func lossNote(was, is v1.ElectionGroupStatus) string {
	i := slices.IndexFunc(is.Processes,
		func(row v1.ProcessStatus) bool { return row.Name == coordinatorName(was) })
	switch {
	case i < 0:
		return "its pod is gone"
	case is.Processes[i].NotCandidate != "":
		return fmt.Sprintf("its state is %s, and it is no candidate (%s)", is.Processes[i].State,
			is.Processes[i].NotCandidate)
	default:
		return fmt.Sprintf("its state is %s", is.Processes[i].State)
	}
}

func electionNote(is v1.ElectionGroupStatus) string {
	note := fmt.Sprintf("%s (priority %d) is the coordinator%s", is.Coordinator.Name,
		ptr.Deref(is.Coordinator.Priority, 0), underEpoch(is.Coordinator.Epoch))
	if len(is.Elections) == 0 || is.Elections[0].Messages == nil {
		return note // nobody has told yet
	}
	e := is.Elections[0]
	note += fmt.Sprintf(": elected in %d ms with %d messages", ptr.Deref(e.DurationMilliseconds, 0),
		*e.Messages)
	if e.Initiator != "" {
		note += ", started by " + e.Initiator
	}
	if e.Reason != "" {
		note += fmt.Sprintf(" (%s)", e.Reason)
	}
	return note
}

// underEpoch names the epoch of a Guarded group as generation.ballot; nothing in a Classic one.
func underEpoch(epoch int64) string {
	if epoch == 0 {
		return ""
	}
	return " under epoch " + displayEpoch(epoch)
}

// rosterEvents tells which members, and in a Guarded group which voters, a roster adds and removes.
func rosterEvents(was, is *v1.RosterStatus, guarded bool) []notification {
	var all []notification
	if changes := changesOf(was, is); changes != "" {
		note := fmt.Sprintf("%s: the group has %d %s (roster generation %d)", changes,
			len(is.Members), plural(len(is.Members), "process", "processes"), is.Generation)
		all = append(all,
			notification{corev1.EventTypeNormal, "RosterChanged", "UpdateRoster", note})
	}
	if guarded {
		all = append(all, voterEvents(was, is)...)
	}
	return append(all, stepDownEvents(was, is)...)
}

// changesOf names the members that one roster has and the other has not; empty if there are none.
func changesOf(was, is *v1.RosterStatus) string {
	var parts []string
	if added := missing(is, was); len(added) > 0 {
		parts = append(parts, "added "+enumerate(added))
	}
	if removed := missing(was, is); len(removed) > 0 {
		parts = append(parts, "removed "+enumerate(removed))
	}
	return strings.Join(parts, ", ")
}

// missing returns the members of r, by name and UID, that o does not have.
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

// voterEvents tells how the voters of a Guarded group changed, and which of them an operator
// confirmed to have stopped.
func voterEvents(was, is *v1.RosterStatus) []notification {
	var all []notification
	before, now := votersOnly(was), votersOnly(is)
	if changes := changesOf(before, now); changes != "" {
		note := fmt.Sprintf("voters: %s; a majority of the %d is %d (roster generation %d)", changes,
			len(now.Members), membership.Majority(len(now.Members)), is.Generation)
		all = append(all,
			notification{corev1.EventTypeNormal, "VotersChanged", "UpdateRoster", note})
	}
	if forgotten := missing(forgottenOnly(is), forgottenOnly(was)); len(forgotten) > 0 {
		note := fmt.Sprintf(
			"an operator confirmed that %s %s stopped, to be removed from the voters (roster "+
				"generation %d)", enumerate(forgotten), plural(len(forgotten), "has", "have"),
			is.Generation)
		all = append(all, notification{corev1.EventTypeWarning, "VotersForgotten", "Forget", note})
	}
	return all
}

func votersOnly(r *v1.RosterStatus) *v1.RosterStatus {
	return &v1.RosterStatus{Members: votersIn(r)}
}

func forgottenOnly(r *v1.RosterStatus) *v1.RosterStatus {
	all := votersOnly(r)
	all.Members = slices.DeleteFunc(all.Members,
		func(m v1.RosterMember) bool { return !ptr.Deref(m.Forgotten, false) })
	return all
}
