package group

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/roster"
)

// authorised finds the coordinator of a Guarded group: the process that a majority of the voters on
// the persisted roster follow under one epoch. It never shows a lower epoch than was published
// before, nor than an earlier manager published, even if the status names nobody now.
func authorised(all []process, o observation) choice {
	c := choice{fresh: true}
	views := map[string]bool{}
	for _, p := range all {
		if !p.connected() {
			continue
		}
		c.reporters++
		if name := p.follows(); name != "" {
			views[name] = true
		}
	}
	c.views = len(views)
	members := votersIn(o.published.Roster)
	c.voters = len(members)
	for _, m := range members {
		if !reports(m, o) {
			continue
		}
		c.present++
		switch o.sightings[m.UID].Report.LeaseState {
		case roster.LeaseWaiting:
			c.waiting++
		case roster.LeaseNoMajority:
			c.alone++
		}
	}
	if c.reporters == 0 {
		last := lastKnown(all, o.published.Coordinator)
		last.voters = c.voters
		return last
	}
	floor := o.floor()
	name, epoch := majorityFollows(members, o, false)
	if name == "" {
		return c.stands(members, all, o)
	}
	switch {
	case !mayAct(all, name, o):
		c.ended = name
	case epoch < floor:
		c.stale = true
	default:
		c.name, c.epoch = name, epoch
	}
	return c
}

// floor is the highest epoch that this manager knows to have been published.
func (o *observation) floor() int64 {
	floor := max(o.epoch, epochOf(o.published))
	for i := range o.published.Elections {
		floor = max(floor, o.published.Elections[i].Epoch)
	}
	return floor
}

// stands keeps the published coordinator for a while if all that is missing for a majority are
// agents whose connection broke and that count as coming back: as a rule they are back at once, and
// what they said still holds.
func (c choice) stands(members []v1.RosterMember, all []process, o observation) choice {
	name, epoch := majorityFollows(members, o, true)
	if name == "" || name != coordinatorName(o.published) || epoch < o.floor() ||
		!mayAct(all, name, o) {
		return c
	}
	c.name, c.epoch = name, o.floor()
	for _, m := range members {
		if s := o.sightings[m.UID]; !reports(m, o) {
			if left := o.backUntil(s.Since).Sub(o.now); left > 0 {
				c.recheck = sooner(c.recheck, left)
			}
		}
	}
	return c
}

// majorityFollows returns the process that a majority of the voters follow, and the epoch. Voters
// count that report now, and if awaited also those that count as coming back and have not said that
// they leave.
func majorityFollows(members []v1.RosterMember, o observation, awaited bool) (string, int64) {
	epochs := map[string][]int64{}
	for _, m := range members {
		s, seen := o.sightings[m.UID]
		returns := awaited && seen && s.Report.StateID == m.StateID && !s.Report.Leaving &&
			o.now.Before(o.backUntil(s.Since))
		if (reports(m, o) || returns) && follows(s.Report) {
			epochs[s.Report.Coordinator] = append(epochs[s.Report.Coordinator], s.Report.Epoch)
		}
	}
	return membership.Followed(len(members), epochs)
}

// reports reports whether a voter is connected to this manager, with the state directory that the
// roster names.
func reports(m v1.RosterMember, o observation) bool {
	s, seen := o.sightings[m.UID]
	return seen && s.Connected && s.Report.StateID == m.StateID
}

// mayAct reports whether a process that a majority follows can be the coordinator: it is on the
// roster with a priority, nothing says that it has ended or stands still, and if it is connected it
// claims to be it. Its followers know only a name: a pod that was created again under that name,
// and is not on the roster or has not joined, is not the one they follow.
func mayAct(all []process, name string, o observation) bool {
	i := slices.IndexFunc(all, func(p process) bool { return p.name == name })
	if i < 0 {
		return false
	}
	p := all[i]
	// A process that does not vote may have joined under the manager before, if its pod is so old.
	joined := p.joined || p.pod != nil && madeBefore(p.pod, o.begun) && o.now.Before(o.reportsUntil())
	return p.member && p.priority > 0 && !p.dead() && !p.mute && joined &&
		recorded(o.published.Roster, p.pod) != nil &&
		(!p.connected() || p.claims())
}

// madeBefore reports whether a pod is as old as that, to the second.
func madeBefore(pod *corev1.Pod, at time.Time) bool { return !pod.CreationTimestamp.After(at) }
