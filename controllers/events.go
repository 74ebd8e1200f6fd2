package controllers

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	return slices.Concat(all, coordinatorEvents(was, is), stalledEvents(was, is))
}

// stalledEvents tells that nothing will change until a user acts, once for each reason.
func stalledEvents(was, is v1.ElectionGroupStatus) []notification {
	before, now := stalledIn(was), stalledIn(is)
	if now == nil || before != nil && before.Reason == now.Reason {
		return nil
	}
	return []notification{{corev1.EventTypeWarning, now.Reason, "Observe", now.Message}}
}

// stalledIn is the condition Stalled of a status if it is True, else nil.
func stalledIn(s v1.ElectionGroupStatus) *metav1.Condition {
	if c := meta.FindStatusCondition(s.Conditions, v1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
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

func coordinatorEvents(was, is v1.ElectionGroupStatus) []notification {
	var all []notification
	before, now := coordinatorName(was), coordinatorName(is)
	if before == now {
		return nil
	}
	if before != "" {
		all = append(all, notification{corev1.EventTypeWarning, "CoordinatorLost", "Observe", lossNote(was, is)})
	}
	if now != "" {
		all = append(all, notification{corev1.EventTypeNormal, "CoordinatorElected", "Elect", electionNote(is)})
	}
	return all
}

// epochOf is the epoch of the published coordinator; zero if there is none, and in Classic groups.
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

func lossNote(was, is v1.ElectionGroupStatus) string {
	name := coordinatorName(was)
	i := slices.IndexFunc(is.Processes, func(row v1.ProcessStatus) bool { return row.Name == name })
	if i < 0 {
		return fmt.Sprintf("%s no longer coordinates%s: its pod is gone", name, underEpoch(epochOf(was)))
	}
	return fmt.Sprintf("%s no longer coordinates%s: it is %s", name, underEpoch(epochOf(was)), is.Processes[i].State)
}

func electionNote(is v1.ElectionGroupStatus) string {
	note := fmt.Sprintf("%s (priority %d) coordinates%s", is.Coordinator.Name, ptr.Deref(is.Coordinator.Priority, 0),
		underEpoch(is.Coordinator.Epoch))
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

// underEpoch names the epoch of a Guarded group; nothing in a Classic one.
func underEpoch(epoch int64) string {
	if epoch == 0 {
		return ""
	}
	return fmt.Sprintf(" under epoch %d", epoch)
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

// voterEvents tells how the voters of a Guarded group changed, and which of them an operator has answered for.
func voterEvents(was, is *v1.RosterStatus) []notification {
	var all []notification
	before, now := votersOnly(was), votersOnly(is)
	var parts []string
	if came := missing(now, before); len(came) > 0 {
		parts = append(parts, enumerate(came)+" came")
	}
	if went := missing(before, now); len(went) > 0 {
		parts = append(parts, enumerate(went)+" went")
	}
	if len(parts) > 0 {
		note := fmt.Sprintf("voters: %s; %s (roster generation %d)", strings.Join(parts, ", "), survival(len(now.Members)),
			is.Generation)
		all = append(all, notification{corev1.EventTypeNormal, "VotersChanged", "UpdateRoster", note})
	}
	if forgotten := missing(forgottenOnly(is), forgottenOnly(was)); len(forgotten) > 0 {
		note := fmt.Sprintf("an operator answers for %s having ended: to be removed from the voters (roster generation %d)",
			enumerate(forgotten), is.Generation)
		all = append(all, notification{corev1.EventTypeWarning, "VotersForgotten", "Forget", note})
	}
	return all
}

func votersOnly(r *v1.RosterStatus) *v1.RosterStatus { return &v1.RosterStatus{Members: votersIn(r)} }

func forgottenOnly(r *v1.RosterStatus) *v1.RosterStatus {
	all := votersOnly(r)
	all.Members = slices.DeleteFunc(all.Members, func(m v1.RosterMember) bool { return !ptr.Deref(m.Forgotten, false) })
	return all
}
