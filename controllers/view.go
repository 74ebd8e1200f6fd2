package controllers

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
)

// settleWithin is how long a manager that starts keeps the view that it finds, if the voters do not report sooner. Agents come
// back within a second or a few (jittered backoff); one that takes longer than this is truly out of sight.
const settleWithin = 10 * time.Second

// view is what a group's status is to say, its roster apart.
type view struct {
	status   v1.ElectionGroupStatus
	election string        // the decision that status.LastElection tells of
	recheck  time.Duration // when time alone would change the view; zero if never
	advice   string        // on pods without an agent; empty if there are none
}

// holdView says for how long the published view is to stay as it is: until a majority of the voters on the persisted roster
// have reported to this manager, or settleWithin has passed. A group that no manager has published has nothing to hold.
func holdView(o observation) time.Duration {
	if o.settled || o.published.Roster == nil || len(o.published.Conditions) == 0 {
		return 0
	}
	voters, back := 0, 0
	for _, m := range o.published.Roster.Members {
		if !ptr.Deref(m.Voter, false) {
			continue
		}
		voters++
		if s, ok := o.sightings[m.UID]; ok && s.Connected {
			back++
		}
	}
	if 2*back > voters || voters == 0 {
		return 0
	}
	return max(settleWithin-o.now.Sub(o.begun), 0)
}

// decideView puts the status together. Step is what was decided about the roster.
func decideView(o observation, step rosterDecision) view {
	all := processesOf(o)
	chosen := choose(all, o)
	v := view{status: v1.ElectionGroupStatus{ObservedGeneration: o.group.Generation, Roster: o.published.Roster},
		recheck: chosen.recheck}
	if voters := len(votersIn(o.published.Roster)); guarded(o.group) && voters > 0 {
		v.status.ToleratedFailures = new(int32(lease.Tolerates(voters))) //nolint:gosec // a roster has 256 voters at most
	}
	for _, p := range all {
		row, recheck := rowOf(p, chosen.name, o.now)
		v.status.Processes = append(v.status.Processes, row)
		v.recheck = sooner(v.recheck, recheck)
	}
	v.status.Coordinator = coordinatorStatus(all, chosen, o)
	v.status.LastElection, v.election = lastElectionOf(all, chosen.name, o)
	f := facts{group: o.group, processes: all, rows: v.status.Processes, choice: chosen, lagging: lagging(all, o), step: step,
		service: o.service, version: o.version}
	v.status.Conditions, v.advice = conditionsOf(f, o.published.Conditions, o.now), missingAgents(f)
	if serviceCondition(o.group, o.service) != nil {
		v.recheck = sooner(v.recheck, serviceRetry)
	}
	return v
}

// coordinatorStatus keeps since for as long as the same process coordinates. After a restart of the manager it is read back from
// the published status: for display, nothing is decided by it.
func coordinatorStatus(all []process, chosen choice, o observation) *v1.CoordinatorStatus {
	name := chosen.name
	if name == "" {
		return nil
	}
	c := &v1.CoordinatorStatus{Name: name, Epoch: chosen.epoch, Since: metav1.NewMicroTime(o.now.Truncate(time.Microsecond))}
	for _, p := range all {
		if p.name == name {
			c.Priority = new(p.priority)
		}
	}
	if last := o.published.Coordinator; last != nil && last.Name == name {
		c.Since = last.Since
	}
	return c
}

// lagging is how many connected processes do not use the persisted roster yet.
func lagging(all []process, o observation) int {
	n := 0
	for _, p := range all {
		if p.connected() && o.published.Roster != nil && p.seen.Report.Generation != o.published.Roster.Generation {
			n++
		}
	}
	return n
}

// sooner is the shorter of two waits, where zero is never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
