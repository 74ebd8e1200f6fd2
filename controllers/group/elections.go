package group

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/cost"
)

// status.elections holds an entry for each election whose result the status has shown, and it is
// written together with that result. So nothing but the published status says what was added
// before: a manager that starts reads it and goes on, and a write that fails adds nothing.
//
// An election, there, is what made a process the coordinator:
//
//   - Another process coordinates than the status last named. Whether the status showed none in
//     between makes no difference.
//   - The same process coordinates in a Guarded group, and has obtained a lease again since. Its
//     own account says so: it began to act under a higher epoch than that of the newest entry, and
//     a majority of the voters follows it under that epoch, or a higher one.
//   - The same process coordinates in a Classic group, the status showed none in between, and its
//     account is of another announcement than that of the newest entry.
//
// All else is no election. A new generation of the roster, and a voter that has promised a higher
// ballot, change the epoch in place (LH5, LH9 in internal/lease). A process that is out of the
// manager's sight for a while is shown again. An election of a Classic group that confirms the
// coordinator which the status names changes nothing. If the coordinator gives no account, what the
// status shows decides: none, then the same process again (under a higher epoch in a Guarded group)
// counts as an election.
//
// Reports may come late. They complete the newest entry, as long as its process coordinates.

// maxElections is how many entries there may be (see api/v1).
const maxElections = 10

// electionsOf returns the last elections, newest first.
func electionsOf(all []process, chosen choice, o observation) []v1.ElectionStatus {
	elections := readElections(o.published.Elections)
	if chosen.name == "" {
		return elections
	}
	isNew := isElected(all, chosen, elections, o)
	if isNew {
		elections = slices.Insert(elections, 0, newElection(chosen, elections, o))
		elections = elections[:min(len(elections), maxElections)]
	}
	if len(elections) == 0 || elections[0].To != chosen.name {
		return elections
	}
	if elections[0].ID == "" {
		elections[0].ID = idOf(all, elections)
	}
	if elections[0].ID != "" {
		elections[0] = complete(elections[0],
			accountsOf(all, elections[0], knownNames(all, elections[0], o)))
	}
	elections[0] = plan(elections[0], isNew, all, o)
	return elections
}

// isElected reports whether the process that coordinates has been elected since the newest entry.
func isElected(all []process, chosen choice, elections []v1.ElectionStatus, o observation) bool {
	if lastCoordinator(elections, o) != chosen.name {
		return true
	}
	shown := coordinatorName(o.published) != ""
	newest := v1.ElectionStatus{Epoch: epochOf(o.published)} // of a status without entries
	if len(elections) > 0 && elections[0].To == chosen.name {
		newest = elections[0]
	}
	if chosen.epoch == 0 { // Classic
		decision := decisionOf(all, chosen.name)
		return !shown && (decision == "" || decision != newest.ID)
	}
	if obtained := obtainedUnder(all, chosen.name); obtained > 0 {
		return obtained > newest.Epoch && obtained <= chosen.epoch
	}
	return !shown && chosen.epoch > newest.Epoch
}

// lastCoordinator returns the process that the status shows as the coordinator, or showed last;
// empty: there was none.
func lastCoordinator(elections []v1.ElectionStatus, o observation) string {
	if shown := coordinatorName(o.published); shown != "" || len(elections) == 0 {
		return shown
	}
	return elections[0].To
}

// obtainedUnder returns the epoch under which a process obtained the lease that it holds, as it
// says itself; 0: it does not, or is not connected.
func obtainedUnder(all []process, name string) int64 {
	for _, p := range all {
		if p.name == name && p.connected() && p.seen.Report.LastElection != nil {
			return p.seen.Report.LastElection.Epoch
		}
	}
	return 0
}

// newElection is the entry of an election whose result is seen now, without what accounts tell.
func newElection(chosen choice, elections []v1.ElectionStatus, o observation) v1.ElectionStatus {
	e := v1.ElectionStatus{
		At:        metav1.NewMicroTime(o.now.Truncate(time.Microsecond)),
		Algorithm: o.group.Spec.Algorithm,
		From:      lastCoordinator(elections, o),
		To:        chosen.name,
		Epoch:     chosen.epoch,
	}
	e.DisplayEpoch = displayEpoch(e.Epoch)
	if r := o.published.Roster; r != nil {
		//nolint:gosec // a roster has 100
		e.MessagesAtMost = new(int32(cost.Messages(string(e.Algorithm), len(r.Members))))
	}
	return e
}

// idOf returns the decision of the newest entry; empty: not known, or the announcement is that of
// an earlier entry. A process whose lease has lapsed may obtain it again without another
// announcement. What was told of the earlier election is not told again then. An account of a lease
// that no majority follows yet is not of this entry either.
func idOf(all []process, elections []v1.ElectionStatus) string {
	newest := elections[0]
	decision := decisionOf(all, newest.To)
	if slices.ContainsFunc(elections[1:],
		func(e v1.ElectionStatus) bool { return e.ID == decision }) ||
		newest.Epoch > 0 && obtainedUnder(all, newest.To) > newest.Epoch {
		return ""
	}
	return decision
}

// knownNames returns a function that reports whether this group has a process of that name, or had
// one when the election began: an initiator that handed over may be gone.
func knownNames(all []process, e v1.ElectionStatus, o observation) func(string) bool {
	return func(name string) bool {
		return name == e.From || name == e.To || name == e.Initiator ||
			slices.ContainsFunc(all, func(p process) bool { return p.name == name }) ||
			slices.ContainsFunc(o.published.Processes,
				func(row v1.ProcessStatus) bool { return row.Name == name })
	}
}

// algorithms are those that this version of the API knows.
var algorithms = []v1.Algorithm{v1.Bully, v1.StatusTableBully, v1.LeLann, v1.ChangRoberts,
	v1.RingList, v1.ActiveListRing}

// readElections returns the published entries as they can be written again: no more than there may
// be, and without words that only another version of the API knows. With one of those the API
// server would refuse the whole status.
func readElections(published []v1.ElectionStatus) []v1.ElectionStatus {
	elections := slices.Clone(published[:min(len(published), maxElections)])
	for i := range elections {
		if e := &elections[i]; rank(string(e.Reason)) == len(reasons) && e.Reason != "Asked" {
			e.Reason = ""
		}
		if e := &elections[i]; !slices.Contains(algorithms, e.Algorithm) {
			e.Algorithm = ""
		}
	}
	return elections
}
