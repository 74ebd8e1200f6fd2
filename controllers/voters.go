package controllers

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// situationOf puts together what the next step of the voters depends on.
func situationOf(o observation) situation {
	longest := milliseconds(longestLease(o))
	wait := lease.Outlast(longest)
	s := situation{now: o.now, wait: wait, settle: lease.Outlast(2 * longest), acked: o.ledger.acked, joined: joinedIn(o), founding: o.ledger.founding(o, wait)}
	members := votersIn(o.published.Roster)
	leaderless := nobodyFollows(members, o)
	for _, m := range members {
		seen := o.sightings[m.UID]
		leaves := reports(m, o) && seen.Report.Leaving
		pod := podOf(m, o)
		v := voter{RosterMember: m, connected: reports(m, o) && !leaves, ended: o.ledger.endedBy(m, o.now),
			ends: o.ledger.ended[lifeOf(m)].at, there: pod != nil && !ended(pod), missing: missingFrom(pod, leaves, o.now)}
		switch {
		case reports(m, o):
		case !v.missing.IsZero():
			v.lost = v.missing
		case leaderless:
			v.lost = latest(o.begun, seen.Since).Add(settleWithin)
		}
		s.voters = append(s.voters, v)
	}
	return s
}

// endedBy is since when a voter is known to have ended; zero while it is not.
func (l ledger) endedBy(m v1.RosterMember, now time.Time) time.Time {
	if e := l.ended[lifeOf(m)]; !e.at.After(now) {
		return e.at
	}
	return time.Time{}
}

// reports says whether a voter is connected to this manager, with the memory that the roster knows.
func reports(m v1.RosterMember, o observation) bool {
	s, seen := o.sightings[m.UID]
	return seen && s.Connected && s.Report.StateID == m.StateID
}

// missingFrom is from when on a voter is one whose pod is gone or hangs, or that leaves (R6); zero if it stays.
func missingFrom(pod *corev1.Pod, leaves bool, now time.Time) time.Time {
	switch {
	case pod == nil || ended(pod) || leaves:
		return now
	case pod.DeletionTimestamp != nil:
		return pod.DeletionTimestamp.Time // Kubernetes adds the grace period to it
	default:
		return time.Time{}
	}
}

// nobodyFollows says whether voters report, and all of them that there is nobody to follow: then those that do not report are
// missed. Otherwise the manager may only have lost sight of them.
func nobodyFollows(members []v1.RosterMember, o observation) bool {
	some := false
	for _, m := range members {
		if !reports(m, o) {
			continue
		}
		some = true
		if follows(o.sightings[m.UID].Report) {
			return false
		}
	}
	return some
}

// follows says whether an agent of a Guarded group follows a process that may act, or is it.
func follows(r roster.Report) bool {
	return (r.LeaseState == roster.LeaseFollowing || r.LeaseState == roster.LeaseHolding) && r.Coordinator != "" && r.Epoch > 0
}

// ballotsSpent says whether a nominee of a Guarded group reports that it has no ballot left in the newest generation (N3): the next one
// begins anew. Reports of an older generation do not count, so one generation that is used up makes one. Nor does a report
// while a majority follows somebody: nobody waits for a ballot then, and one that lies would change the coordinator's epoch again and again.
// For the sake of such liars a generation lasts two longest leases at least; wait is what is left of that.
func ballotsSpent(o observation) (spent bool, wait time.Duration) {
	last := o.published.Roster
	if !guarded(o.group) || last == nil {
		return false, 0
	}
	if name, _ := majorityFollows(votersIn(last), o, 0); name != "" {
		return false, 0
	}
	if !slices.ContainsFunc(last.Members, func(m v1.RosterMember) bool {
		s := o.sightings[m.UID]
		return s.Connected && s.Report.LeaseState == roster.LeaseBallotsSpent && s.Report.Generation == last.Generation &&
			priorityOf(&o.group.Spec, m.Name) > 0
	}) {
		return false, 0
	}
	made := generationEpoch.Add(time.Duration(last.Generation) * time.Second)
	return since(made, max(2*milliseconds(longestLease(o)), 2*time.Second), o.now)
}

// joinedIn are the processes of a Guarded group that could become voters, in ring order: their agents are connected, nobody
// has told them to end, and no voter stands in their place. A pod that was replaced is removed before its successor is added.
func joinedIn(o observation) []candidate {
	taken := map[string]bool{}
	for _, m := range votersIn(o.published.Roster) {
		taken[m.Name] = true
	}
	var joined []candidate
	for _, pod := range membersOf(o) {
		s, seen := o.sightings[pod.UID]
		if !seen || !s.Connected || s.Report.Leaving || s.Report.StateID == "" || pod.DeletionTimestamp != nil || taken[pod.Name] {
			continue
		}
		joined = append(joined, candidate{since: s.Since,
			RosterMember: v1.RosterMember{Name: pod.Name, UID: pod.UID, StateID: s.Report.StateID}})
	}
	return joined
}

// longestLease is the longest lease, in milliseconds, that a promise to any process of the group may have now. One that an
// edit made shorter counts until all voters have used the shorter one for as long as the longer one may run.
func longestLease(o observation) int32 {
	present := o.group.Spec.Timing.LeaseMilliseconds
	if shortening(o) {
		if over, _ := since(o.ledger.all, lease.Outlast(milliseconds(o.published.Roster.LongestLeaseMilliseconds)), o.now); over {
			return present
		}
	}
	if o.published.Roster == nil {
		return present
	}
	return max(present, o.published.Roster.LongestLeaseMilliseconds)
}

// shortening says whether agents were told of a lease that is shorter than promises may still have.
func shortening(o observation) bool {
	r := o.published.Roster
	return r != nil && r.LongestLeaseMilliseconds > o.group.Spec.Timing.LeaseMilliseconds &&
		r.Digest == digest(describe(o, r.Members), r.Members)
}

// leaseAgain is when the longest lease is shorter by time alone; zero if it takes an event, or is as short as it gets.
func leaseAgain(o observation) time.Duration {
	if !shortening(o) {
		return 0
	}
	_, left := since(o.ledger.all, lease.Outlast(milliseconds(o.published.Roster.LongestLeaseMilliseconds)), o.now)
	return left
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func isVoter(m v1.RosterMember) bool { return ptr.Deref(m.Voter, false) }

// guardedMembers records the members of a Guarded group: the voters, whatever has become of their pods, and all other live pods,
// as far as no voter stands in their place and there is room. Since when a pod is gone stays on record also when the voter's end is
// known, which may be for that very reason: the next manager has nothing else to know it from.
func guardedMembers(o observation, live []*corev1.Pod, voters []v1.RosterMember) []v1.RosterMember {
	members, taken := []v1.RosterMember{}, map[string]bool{}
	for _, m := range voters {
		gone := podOf(m, o) == nil && (o.ledger.ended[lifeOf(m)].at.IsZero() || !m.GoneSince.IsZero())
		m.GoneSince = metav1.NewTime(first(gone, m.GoneSince.Time, o.now.Truncate(time.Second)))
		m.Forgotten = nil
		if forgotten(m, o) {
			m.Forgotten = new(true)
		}
		members, taken[m.Name] = append(members, m), true
	}
	for _, pod := range live {
		if !taken[pod.Name] && len(members) < v1.MaxProcesses {
			members = append(members, v1.RosterMember{Name: pod.Name, UID: pod.UID, Voter: new(false)})
		}
	}
	slices.SortFunc(members, func(a, b v1.RosterMember) int { return compareNatural(a.Name, b.Name) })
	return members
}
