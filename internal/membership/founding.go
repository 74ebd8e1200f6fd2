package membership

import (
	"slices"
	"time"
)

// MC2: Founding. A roster without voters may be followed by one with any voters: all processes that
// have joined. It waits until all healthy pods have joined, and until those exist that the spec
// names. It does so for at most 3 s after the first one has joined: otherwise many single changes
// would follow. If an agent uses an older roster
// that this manager does not know, the status was lost, or the group was made again, and the voters
// of that roster may still act: then it waits until every agent that reports has left such rosters
// and one longest lease has passed, and up to 10 s for all pods to join.

const (
	// FoundWithin is how long the founding waits for healthy pods that have not joined.
	FoundWithin = 3 * time.Second
	// refoundWithin is how long it waits for them when the status was lost.
	refoundWithin = 10 * time.Second
)

// candidate is a process that could become a voter.
type candidate struct {
	voter

	since time.Time // its agent has been connected
}

// findJoined returns the processes that could become voters, in ring order: their agents are
// connected, do not leave, and their pods are not being deleted; and no voter has their name. (A
// pod that was replaced is removed before its successor is added.)
func (g *group) findJoined() (joined []candidate) {
	for i := range g.Pods {
		pod := &g.Pods[i]
		if pod.Finished || pod.deleting() || g.hasVoter(pod.Name) {
			continue
		}
		r := g.report(pod.UID)
		if r == nil || !r.Connected || r.Leaving || r.StateID == "" {
			continue
		}
		m := &Member{
			Name:    pod.Name,
			UID:     pod.UID,
			StateID: r.StateID,
			Voter:   true,
		}
		joined = append(joined,
			candidate{voter: voter{
				Member: m,
				pod:    pod,
				report: r,
			}, since: r.Since})
	}
	return joined
}

func (g *group) hasVoter(name string) bool {
	for i := range g.voters {
		if g.voters[i].Name == name {
			return true
		}
	}
	return false
}

// awaitsPods reports whether a healthy pod has not joined yet, or a pod that the spec names does
// not exist.
func (g *group) awaitsPods() bool {
	healthy := 0
	for i := range g.Pods {
		if !g.Pods[i].Finished && !g.Pods[i].deleting() {
			healthy++
		}
	}
	return healthy > len(g.joined) || slices.ContainsFunc(g.Named, func(name string) bool {
		return !slices.ContainsFunc(g.Pods, func(p Pod) bool { return p.Name == name })
	})
}

// awaitFounding enters what the founding waits for.
func (s State) awaitFounding(g *group) State {
	founded := len(g.voters) > 0
	s.joined = heldSince(!founded && len(g.joined) > 0, s.joined, g.Now)
	behind := false
	for i := range g.Reports {
		r := &g.Reports[i]
		older := s.generation == 0 || r.Generation < s.generation || r.OtherGroup
		behind = behind || r.Generation > 0 && older
	}
	switch {
	case founded || behind:
		s.behind, s.caughtUp = !founded, time.Time{}
	case s.behind:
		s.behind, s.caughtUp = false, g.Now
	}
	return s
}

// foundingDue returns when those that have joined become the first voters; zero while nobody has.
// Wait is Outlast of the longest lease.
func (s *State) foundingDue(g *group, wait time.Duration) time.Time {
	awaits := g.awaitsPods()
	switch {
	case s.joined.IsZero():
		return time.Time{}
	case s.behind:
		return s.joined.Add(refoundWithin + wait)
	case s.caughtUp.IsZero() && awaits:
		return s.joined.Add(FoundWithin)
	case s.caughtUp.IsZero():
		return s.joined
	}
	due := s.caughtUp.Add(wait)
	if latest := s.joined.Add(refoundWithin); awaits && latest.After(due) {
		return latest
	}
	return due
}

// found makes the first voters when it is time.
func (s *situation) found() step {
	next := step{pending: len(s.joined)}
	due, left := elapsed(s.founding, 0, s.now)
	if !due {
		next.again = left
		return next
	}
	for i := range s.joined {
		next.voters = append(next.voters, s.joined[i].voter)
	}
	next.why = Founded
	return next
}
