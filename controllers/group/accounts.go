package group

import (
	"math"
	"slices"

	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// Each agent gives an account of the last election that it took part in. Accounts with the same
// decision, which names the announcement that ended the election, are of the same election. An
// account is what a tenant's agent says: of all that is in it, only what has been checked gets into
// a status, and it gets into that of the agent's own group only.

// reasons are the reasons that are shown, a cause before what may follow from it: when a
// coordinator withdraws, others may soon miss it, too. An agent of another version may say others,
// which are left out. Asked is no cause. Those that the manager finds itself come first.
var reasons = []v1.ElectionReason{v1.ReasonSteppedDown, v1.ReasonDrained, v1.ReasonRolled,
	v1.ReasonHandedOver, "Withdrawn", unreachable, "RosterChanged", v1.ReasonPreempted, "Started",
	"TwoCoordinators", "AnnouncementMissing"}

const unreachable v1.ElectionReason = "CoordinatorUnreachable"

// accountOf returns the account of a process; nil: it has given none, or one that names no
// election.
func accountOf(p process) *roster.Election {
	if p.seen == nil || p.seen.Report.LastElection == nil ||
		!p.seen.Report.LastElection.IsNamed() {
		return nil
	}
	return p.seen.Report.LastElection
}

// decisionOf returns the decision that made a process the coordinator: what it says itself or, if
// it is not connected or has given no account, what more than half of the processes that follow it
// say; empty: not known.
func decisionOf(all []process, coordinator string) string {
	followers, votes := 0, map[string]int{}
	for _, p := range all {
		e := accountOf(p)
		if p.name == coordinator && p.connected() && e != nil {
			return e.Decision
		}
		if p.follows() != coordinator {
			continue
		}
		followers++
		if e != nil {
			votes[e.Decision]++
		}
	}
	for decision, n := range votes {
		if 2*n > followers {
			return decision
		}
	}
	return ""
}

// accountsOf returns all accounts of a decision. An initiator that is no process of this group is
// left out of them. If the coordinator before it says that it started, it had ended before, and
// that was the cause.
func accountsOf(all []process, e v1.ElectionStatus, known func(string) bool) []roster.Election {
	var accounts []roster.Election
	for _, p := range all {
		if told := accountOf(p); told != nil && told.Decision == e.ID {
			account := *told
			victim := account.Initiator == e.From && e.From != e.To
			if victim && account.Reason == "Started" {
				account.Reason = string(unreachable)
			}
			if !known(account.Initiator) || victim && account.Reason == string(unreachable) {
				account.Initiator = ""
			}
			accounts = append(accounts, account)
		}
	}
	return accounts
}

// complete adds to what is known of an election what accounts of it tell: all messages, the longest
// time without a coordinator, and who called it and why. What was known is kept when the process
// that could tell it is gone.
func complete(known v1.ElectionStatus, accounts []roster.Election) v1.ElectionStatus {
	if len(accounts) == 0 {
		return known
	}
	var messages, longest int64
	caller := roster.Election{Initiator: accounts[0].Initiator}
	for _, e := range accounts {
		messages += int64(e.Sent)
		longest = max(longest, e.Duration.Milliseconds())
		if rank(e.Reason) < rank(caller.Reason) ||
			rank(e.Reason) == rank(caller.Reason) && e.Duration > caller.Duration &&
				rank(e.Reason) < len(reasons) {
			caller = e
		}
	}
	if rank(caller.Reason) < len(reasons) && rank(caller.Reason) <= rank(string(known.Reason)) {
		known.Reason, known.Initiator = v1.ElectionReason(caller.Reason), caller.Initiator
	}
	if known.Initiator == "" {
		known.Initiator = caller.Initiator
	}
	messages = max(messages, int64(ptr.Deref(known.Messages, 0)))
	known.Messages = new(int32(min(messages, math.MaxInt32)))
	known.DurationMilliseconds = new(max(longest, ptr.Deref(known.DurationMilliseconds, 0)))
	return known
}

// rank is the place of a reason among those that are shown; one that is not shown comes last.
func rank(reason string) int {
	if i := slices.Index(reasons, v1.ElectionReason(reason)); i >= 0 {
		return i
	}
	return len(reasons)
}
