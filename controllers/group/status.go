package group

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/membership"
)

// statusDecision is what a group's status is to say, and what goes with it.
type statusDecision struct {
	status   v1.ElectionGroupStatus
	degraded []string       // the reasons of all problems; condition Degraded has the gravest only
	events   []notification // told when the status was written
	recheck  time.Duration  // when time alone would change the status; zero: never
	role     roleDecision   // which goes with its coordinator
}

// holdStatus returns for how long the published status is to stay as it is. A group that no manager
// has published has nothing to hold.
func holdStatus(o observation) time.Duration {
	switch {
	case o.published.Roster == nil || len(o.published.Conditions) == 0:
		return 0
	case o.showing:
		return holdUntilBack(o)
	default:
		return holdAfterStart(o)
	}
}

// holdUntilBack is about a group whose agents have all just lost the manager, while nothing tells
// that one of them ends: the manager is cut off from them, and what they said last still holds.
func holdUntilBack(o observation) (hold time.Duration) {
	coordinator := coordinatorName(o.published)
	if coordinator != "" && !slices.ContainsFunc(o.pods, func(pod *corev1.Pod) bool {
		return pod.Name == coordinator && recorded(o.published.Roster, pod) != nil
	}) {
		return 0 // its pod is gone
	}
	for _, pod := range o.pods {
		s, seen := o.sightings[pod.UID]
		left := o.backUntil(s.Since).Sub(o.now)
		switch {
		case !seen: // its agent has yet to join
		case s.Connected:
			return 0
		case left <= 0: // the status shows already that it is away
		case s.Report.Leaving || departing(pod) || agentEnded(pod):
			return 0
		default:
			hold = sooner(hold, left)
		}
	}
	return hold
}

// holdAfterStart is about a manager that starts. It waits until a majority of the voters on the
// persisted roster have reported to it, or reportsUntil has passed.
func holdAfterStart(o observation) time.Duration {
	voters := votersIn(o.published.Roster)
	back := 0
	for _, m := range voters {
		if s, ok := o.sightings[m.UID]; ok && s.Connected {
			back++
		}
	}
	if len(voters) == 0 || back >= membership.Majority(len(voters)) {
		return 0
	}
	return max(o.reportsUntil().Sub(o.now), 0)
}

// decideStatus puts the status together. Step is what was decided about the roster.
func decideStatus(o observation, step rosterDecision) statusDecision {
	all := processesOf(o)
	chosen := choose(all, o)
	d := statusDecision{
		status: v1.ElectionGroupStatus{
			ObservedGeneration: o.group.Generation,
			Roster:             o.published.Roster,
			SetBack:            step.setBack,
			Preemption:         preemptionOf(o.group),
			Timing:             timingStatus(o.group),
		},
		recheck: chosen.recheck,
		role:    decideRole(o, chosen.name),
	}
	var fail []string
	for _, p := range all {
		row, recheck := rowOf(p, chosen, o.now)
		d.status.Processes = append(d.status.Processes, row)
		if why := failing(p, row); why != "" {
			fail = append(fail, why)
		}
		d.recheck = sooner(d.recheck, recheck)
	}
	reporting := reportingVoters(d.status.Processes, o.published.Roster)
	if voters := len(votersIn(o.published.Roster)); guarded(o.group) && voters > 0 {
		d.status.ToleratedFailures = new(
			//nolint:gosec // a roster has 100 voters at most
			int32(max(reporting-membership.Majority(voters), 0)))
	}
	d.status.Running = runningOf(d.status.Processes, o.published.Roster)
	d.status.Coordinator = coordinatorStatus(all, chosen, o)
	d.status.Elections = electionsOf(all, chosen, o)
	f := findings{
		group:     o.group,
		processes: all,
		rows:      d.status.Processes,
		choice:    chosen,
		failing:   fail,
		reporting: reporting,
		lagging:   lagging(all, o),
		step:      step,
		service:   o.service,
		label:     d.role.refused,
		trust:     o.trust,
		strays:    o.strays,
		version:   o.version,
		rules:     o.rules,
	}
	d.status.Conditions = conditionsOf(f, o.published.Conditions, o.now)
	for _, p := range problems(f) {
		d.degraded = append(d.degraded, p.reason)
	}
	if serviceCondition(o.group, o.service) != nil {
		asked := slices.MaxFunc([]time.Time{o.service.refused.at, o.service.lookup.at}, time.Time.Compare)
		d.recheck = sooner(d.recheck, nextTry(asked, o.now))
	}
	for _, refused := range d.role.labels.refused {
		d.recheck = sooner(d.recheck, nextTry(refused.at, o.now))
	}
	d.events = slices.Concat(statusEvents(o.published, d.status, endings(all, o)),
		agentEvents(o.published, d.status, missingAgents(f)),
		problemEvents(o.published, problem{reasonTrustNotRestored, o.trust},
			problem{reasonForgetIgnored, step.forgetIgnored},
			problem{reasonStepDownIgnored, step.stepDownIgnored},
			problem{reasonAdoptIgnored, step.adoptIgnored},
			problem{reasonWitnessRefused, refusedWitnesses(f)}))
	return d
}

// coordinatorStatus keeps since for as long as the same process coordinates. After a restart of the
// manager it is read back from the published status: for display, nothing is decided by it.
func coordinatorStatus(all []process, chosen choice, o observation) *v1.CoordinatorStatus {
	name := chosen.name
	if name == "" {
		return nil
	}
	c := &v1.CoordinatorStatus{
		Name:         name,
		Epoch:        chosen.epoch,
		DisplayEpoch: displayEpoch(chosen.epoch),
		Since:        metav1.NewMicroTime(o.now.Truncate(time.Microsecond)),
	}
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

// displayEpoch is an epoch as people read it, generation.ballot; empty in a Classic group.
func displayEpoch(epoch int64) string {
	if epoch == 0 {
		return ""
	}
	return lease.Epoch(epoch).String()
}

// lagging returns how many connected processes do not use the persisted roster yet.
func lagging(all []process, o observation) int {
	n := 0
	for _, p := range all {
		if p.connected() && o.published.Roster != nil &&
			(p.seen.Report.Generation != o.published.Roster.Generation ||
				ofOtherGroup(p.seen.Report, o.group.UID)) {
			n++
		}
	}
	return n
}
