package controllers

import (
	"math"
	"slices"

	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// reasons are the reasons that the API knows; an agent of another version may say others, which are left out.
var reasons = []v1.ElectionReason{"Started", "CoordinatorUnreachable", "CoordinatorLeft", "RosterChanged",
	"TwoCoordinators", "AnnouncementMissing", asked}

// asked is the reason of a process that took part because another one called the election.
const asked v1.ElectionReason = "Asked"

// lastElectionOf puts together how the coordinator was elected, from the accounts of all processes whose election ended with
// the announcement that the coordinator's own ended with; decision names it. What was once known of a decision is kept
// when a process that could tell of it is gone.
func lastElectionOf(all []process, coordinator string, o observation) (told *v1.ElectionStatus, decision string) {
	i := slices.IndexFunc(all, func(p process) bool { return p.name == coordinator })
	if i < 0 || all[i].seen == nil || all[i].seen.Report.LastElection == nil || all[i].seen.Report.LastElection.Decision == "" {
		if coordinator == "" || o.published.Coordinator == nil || o.published.Coordinator.Name != coordinator {
			return nil, ""
		}
		return o.published.LastElection, o.election
	}
	decision = all[i].seen.Report.LastElection.Decision
	var accounts []*roster.Election
	for _, p := range all {
		if p.seen != nil && p.seen.Report.LastElection != nil && p.seen.Report.LastElection.Decision == decision {
			accounts = append(accounts, p.seen.Report.LastElection)
		}
	}
	told = sum(accounts)
	if earlier := o.published.LastElection; earlier != nil && sameElection(coordinator, decision, o) {
		told = fuller(told, earlier)
	}
	return told, decision
}

// sameElection says whether the published account is of this decision. A manager that has just started does not know; as long as
// the coordinator is the same it is taken for it, so that a restart does not shrink the account while agents come back.
func sameElection(coordinator, decision string, o observation) bool {
	if o.election != "" {
		return o.election == decision
	}
	return coordinatorName(o.published) == coordinator
}

// sum adds the accounts of one election up: all messages, the longest time without a coordinator, and who called it and why
// as the process says that was without one for longest, among those that were not merely asked.
func sum(accounts []*roster.Election) *v1.ElectionStatus {
	var messages, longest, caller int64 = 0, 0, -1
	told := &v1.ElectionStatus{}
	for _, e := range accounts {
		duration := e.Duration.Milliseconds()
		messages += int64(e.Sent)
		longest = max(longest, duration)
		if reason := v1.ElectionReason(e.Reason); reason != asked && int64(e.Duration) > caller && slices.Contains(reasons, reason) {
			caller, told.Initiator, told.Reason = int64(e.Duration), e.Initiator, reason
		}
	}
	if told.Initiator == "" && len(accounts) > 0 {
		told.Initiator = accounts[0].Initiator
	}
	told.Messages = ptr.To(int32(min(messages, math.MaxInt32)))
	told.DurationMilliseconds = ptr.To(longest)
	return told
}

// fuller is the fuller one of two accounts of one election.
func fuller(a, b *v1.ElectionStatus) *v1.ElectionStatus {
	more := *a
	if ptr.Deref(b.DurationMilliseconds, 0) > *a.DurationMilliseconds || a.Reason == "" {
		more = *b
	}
	more.DurationMilliseconds = ptr.To(max(*a.DurationMilliseconds, ptr.Deref(b.DurationMilliseconds, 0)))
	more.Messages = ptr.To(max(*a.Messages, ptr.Deref(b.Messages, 0)))
	return &more
}
