package controllers

import (
	"cmp"
	"slices"
	"time"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// choice is whom the processes see as their coordinator.
type choice struct {
	name      string // empty: nobody
	followers int    // how many connected processes follow it, itself among them
	reporters int    // how many processes are connected
	views     int    // how many different coordinators they name
	fresh     bool   // false: nobody reports, and the last one published stays because nothing says that it ended

	// Of Guarded groups only.
	epoch   int64         // of the coordinator's lease
	voters  int           // on the persisted roster
	present int           // of them, those that report
	ended   string        // whom a majority follows though it has ended, so that its lease has to run out
	stale   bool          // a majority follows under a lower epoch than was published before
	waiting int           // how many present voters wait for a promise to run out
	alone   int           // how many present voters reach no majority
	recheck time.Duration // when time alone would change the choice; zero if never
}

// choose finds the coordinator as the group's safety has it.
func choose(all []process, o observation) choice {
	if guarded(o.group) {
		return authorised(all, o)
	}
	return coordinatorOf(all, o.published.Coordinator)
}

// elected: more than half of those that report agree; in a Guarded group no other is ever chosen.
func (c choice) elected() bool {
	return c.fresh && c.name != "" && (c.epoch > 0 || 2*c.followers > c.reporters)
}

// coordinatorOf finds the coordinator of a Classic group: the process that says itself that it coordinates and that most
// connected processes follow. Where several have as many followers, the higher one in the group's order is taken. One that
// has no connection to the manager (now, or yet) is it if more than half of those that report follow it and nobody has it
// crashed.
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
			claims = 2*followers[p.name] > c.reporters
		}
		if p.member && p.priority > 0 && claims && !p.dead() {
			claimants = append(claimants, p)
		}
	}
	if len(claimants) == 0 {
		return c
	}
	best := slices.MaxFunc(claimants, func(p, q process) int {
		return cmp.Or(cmp.Compare(followers[p.name], followers[q.name]), cmp.Compare(p.priority, q.priority),
			cmp.Compare(p.name, q.name))
	})
	c.name, c.followers = best.name, followers[best.name]
	return c
}

// lastKnown keeps the published coordinator while nobody reports at all, unless it is known to have ended, its pod is being
// deleted, or another pod has its name: a manager that has lost sight must not take the role label from a coordinator that is well.
func lastKnown(all []process, published *v1.CoordinatorStatus) choice {
	if published == nil {
		return choice{}
	}
	for _, p := range all {
		if p.name == published.Name && p.member && p.joined && !p.dead() && !departs(p.pod) {
			return choice{name: p.name, epoch: published.Epoch}
		}
	}
	return choice{}
}
