package group

import (
	"cmp"
	"slices"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// choice is the coordinator that the processes name.
type choice struct {
	name      string // empty: nobody
	followers int    // connected processes that follow it, itself among them
	reporters int    // connected processes
	views     int    // different coordinators that they name
	fresh     bool   // false: nobody reports, and nothing says that the published one ended

	// Of Guarded groups only.
	epoch   int64         // of the coordinator's lease
	voters  int           // on the persisted roster
	present int           // of them, those that report
	ended   string        // a majority follows it though it has ended, so its lease must expire
	stale   bool          // a majority follows under a lower epoch than was published before
	waiting int           // present voters that wait for a lease to expire
	alone   int           // present voters that reach no majority
	recheck time.Duration // when time alone would change the choice; zero: never
}

// choose finds the coordinator by the group's safety.
func choose(all []process, o observation) choice {
	if guarded(o.group) {
		return authorised(all, o)
	}
	return coordinatorOf(all, o.published.Coordinator)
}

// elected reports whether more than half of those that report agree; in a Guarded group no other is
// ever chosen.
func (c choice) elected() bool {
	return c.fresh && c.name != "" && (c.epoch > 0 || 2*c.followers > c.reporters)
}

// coordinatorOf finds the coordinator of a Classic group: the process that claims to be it and that
// most connected processes follow. Where several have as many followers, it is the one that fewer
// report as crashed: of two processes, one whose machine is gone is connected for a while yet. Then
// it is the one that is higher in the group's order. A process that has joined and is not connected
// to the manager, or not yet to this one, is the coordinator if more than half of those that report
// follow it and nobody reports it as crashed.
func coordinatorOf(all []process, published *v1.CoordinatorStatus) choice {
	c := choice{fresh: true}
	followers := map[string]int{}
	for _, p := range all {
		if !p.connected() {
			continue
		}
		c.reporters++
		if name := p.follows(); name != "" {
			followers[name]++
		}
	}
	c.views = len(followers)
	if c.reporters == 0 {
		return lastKnown(all, published)
	}
	var claimants []process
	for _, p := range all {
		claims := p.claims()
		if !p.connected() {
			claims = p.joined && 2*followers[p.name] > c.reporters
		}
		if p.member && p.priority > 0 && claims && !p.dead() {
			claimants = append(claimants, p)
		}
	}
	if len(claimants) == 0 {
		return c
	}
	best := slices.MaxFunc(claimants, func(p, q process) int {
		return cmp.Or(cmp.Compare(followers[p.name], followers[q.name]),
			cmp.Compare(q.accusers, p.accusers), cmp.Compare(p.priority, q.priority),
			cmp.Compare(p.name, q.name))
	})
	c.name, c.followers = best.name, followers[best.name]
	return c
}

// lastKnown keeps the published coordinator while nobody reports at all, unless it is known to have
// ended, its pod is being deleted, or another pod has its name: a manager that is cut off must not
// take the role label from a healthy coordinator.
func lastKnown(all []process, published *v1.CoordinatorStatus) choice {
	if published == nil {
		return choice{}
	}
	for _, p := range all {
		if p.name == published.Name && p.member && p.joined && !p.dead() && !departing(p.pod) {
			return choice{name: p.name, epoch: published.Epoch}
		}
	}
	return choice{}
}
