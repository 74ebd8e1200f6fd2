package group

import (
	"math"
	"slices"

	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// reasons are the reasons that the API knows, a cause before what may follow from it: when a
// coordinator withdraws, others may soon miss it, too. An agent of another version may say others,
// which are left out.
var reasons = []v1.ElectionReason{"Withdrawn", "CoordinatorUnreachable", "RosterChanged", "Started",
	"TwoCoordinators", "AnnouncementMissing"}

// lastElectionOf puts together how the coordinator was elected, from the accounts of all processes
// whose election ended with the announcement that the coordinator's own ended with; decision names
// it. What was once known of a decision is kept when a process that could tell of it is gone.
func lastElectionOf(all []process, coordinator string,
	o observation) (told *v1.ElectionStatus, decision string) {
	i := slices.IndexFunc(all, func(p process) bool { return p.name == coordinator })
	if i < 0 || all[i].seen == nil || all[i].seen.Report.LastElection == nil ||
		all[i].seen.Report.LastElection.Decision == "" {
		if coordinator == "" || o.published.Coordinator == nil ||
			o.published.Coordinator.Name != coordinator {
			return nil, ""
		}
		return o.published.LastElection, o.election
	}
	decision = all[i].seen.Report.LastElection.Decision
	var accounts []*roster.Election
	for _, p := range all {
		if p.seen != nil && p.seen.Report.LastElection != nil &&
			p.seen.Report.LastElection.Decision == decision {
			accounts = append(accounts, p.seen.Report.LastElection)
		}
	}
	told = sum(accounts)
	if earlier := o.published.LastElection; earlier != nil &&
		sameElection(coordinator, decision, o) {
		told = fuller(told, earlier)
	}
	return told, decision
}

// sameElection reports whether the published account is of this decision. A manager that has just
// started does not know; as long as the coordinator is the same it is taken for it, so that a
// restart does not shrink the account while agents come back.
func sameElection(coordinator, decision string, o observation) bool {
	if o.election != "" {
		return o.election == decision
	}
	return coordinatorName(o.published) == coordinator
}

// sum adds the accounts of one election up: all messages, the longest time without a coordinator,
// and who called it and why.
func sum(accounts []*roster.Election) *v1.ElectionStatus {
	told := &v1.ElectionStatus{}
	var messages, longest int64
	var caller *roster.Election
	for _, e := range accounts {
		messages += int64(e.Sent)
		longest = max(longest, e.Duration.Milliseconds())
		if called(e) && (caller == nil || before(e, caller)) {
			caller = e
		}
	}
	switch {
	case caller != nil:
		told.Initiator, told.Reason = caller.Initiator, v1.ElectionReason(caller.Reason)
	case len(accounts) > 0:
		told.Initiator = accounts[0].Initiator
	}
	told.Messages = new(int32(min(messages, math.MaxInt32)))
	told.DurationMilliseconds = new(longest)
	return told
}

// called reports whether a process called the election itself, for a reason that the API knows.
func called(e *roster.Election) bool {
	return slices.Contains(reasons, v1.ElectionReason(e.Reason))
}

// before reports whether the account of a tells the cause rather than that of b: by the reason, then
// by who was without a coordinator for longer.
func before(a, b *roster.Election) bool {
	i, j := slices.Index(reasons, v1.ElectionReason(a.Reason)), slices.Index(reasons,
		v1.ElectionReason(b.Reason))
	return i < j || i == j && a.Duration > b.Duration
}

// fuller is the fuller one of two accounts of one election: the newer one, with what only the
// earlier one had.
func fuller(now, earlier *v1.ElectionStatus) *v1.ElectionStatus {
	told := *now
	i, j := slices.Index(reasons, now.Reason), slices.Index(reasons, earlier.Reason)
	if j >= 0 && (i < 0 || j < i) {
		told.Initiator, told.Reason = earlier.Initiator, earlier.Reason
	}
	told.DurationMilliseconds = new(
		max(*now.DurationMilliseconds, ptr.Deref(earlier.DurationMilliseconds, 0)))
	told.Messages = new(max(*now.Messages, ptr.Deref(earlier.Messages, 0)))
	return &told
}
