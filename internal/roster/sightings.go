package roster

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/podesta-dev/podesta/internal/identity"
)

// Sighting is what an agent has told the manager about itself.
type Sighting struct {
	Name, UID string
	Report    Report // the newest report; the reader must not modify what it refers to
	// Connected is true while the agent's newest subscription is open and has reported.
	Connected bool
	// Since is when Connected last changed.
	Since time.Time
}

type groupKey struct{ namespace, group string }

// Sightings holds the newest reports of all agents that have joined since this manager began to
// lead. Its size is bounded by the number of pods that exist or are on a roster (see strays), and
// the tables by the rosters; Forget drops what is no longer needed. It is safe for concurrent use.
type Sightings struct {
	now func() time.Time

	mu        sync.Mutex
	groups    map[groupKey]*sightedGroup
	connected int // of all of them
	changed   func(namespace, group string)
}

type sightedGroup struct {
	of     map[string]*sighting // by pod UID
	claims map[claim]int        // how many connected agents say so
}

// claim is what agents have to agree on. It is zero for one that takes part in an election, or
// follows nobody.
type claim struct {
	coordinator string
	epoch       int64
	own         bool // the agent is that coordinator
}

type sighting struct {
	Sighting
	subscription *subscription // the subscription that may change it; nil if it is closed
}

// NewSightings returns an empty store.
func NewSightings(now func() time.Time) *Sightings {
	return &Sightings{
		now:     now,
		groups:  map[groupKey]*sightedGroup{},
		changed: func(string, string) {},
	}
}

// OnChange sets the function that is called after each change of a group's sightings, and when a
// subscription of the group starts. It is called often and concurrently: it must not block, and
// should coalesce.
func (s *Sightings) OnChange(changed func(namespace, group string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = changed
}

// Group returns the sightings of a group, sorted by name.
func (s *Sightings) Group(namespace, group string) []Sighting {
	all := s.unsorted(groupKey{namespace, group})
	slices.SortFunc(all, func(a, b Sighting) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return all
}

func (s *Sightings) unsorted(key groupKey) (all []Sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[key]
	if g == nil {
		return nil
	}
	for _, seen := range g.of {
		if !seen.Since.IsZero() { // a subscription that has not reported yet is not a sighting
			all = append(all, seen.Sighting)
		}
	}
	return all
}

// mostClaims is how many different claims agents that agree may make. So it takes the same time for
// any number of agents to find out whether they agree. The ordinary case has three claims: a
// follower's, the coordinator's, and that of an agent that has not heard of the epoch.
const mostClaims = 8

// Agreed returns the coordinator that all connected agents of a group follow, and under which
// epoch, and how many they are. An agent that is not bound by an epoch reports none, which fits to
// any. One that stands still, or is cut off, does not count if it was the leaseholder of an epoch
// before: its last report says still that it leads. The name is empty if they do not agree, if one
// takes part in an election, or if they say more than mostClaims different things.
func (s *Sightings) Agreed(namespace, group string) (coordinator string, epoch int64, agents int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[groupKey{namespace, group}]
	if g == nil || len(g.claims) > mostClaims || g.claims[claim{}] > 0 {
		return "", 0, 0
	}
	newest := claim{}
	for c := range g.claims {
		if c.epoch > newest.epoch {
			newest = c
		}
	}
	for c, n := range g.claims {
		superseded := c.own && newest.coordinator != c.coordinator && 0 < c.epoch &&
			c.epoch < newest.epoch
		switch {
		case superseded:
			continue
		case agents > 0 && c.coordinator != coordinator, epoch != 0 && c.epoch != 0 && c.epoch != epoch:
			return "", 0, 0
		}
		coordinator, epoch = c.coordinator, max(epoch, c.epoch)
		agents += n
	}
	return coordinator, epoch, agents
}

// Connected is how many agents are connected, over all groups.
func (s *Sightings) Connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connected
}

// Forget drops the sightings of a group that have no subscription and that keep rejects.
func (s *Sightings) Forget(namespace, group string, keep func(uid string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := groupKey{namespace, group}
	g := s.groups[key]
	if g == nil {
		return
	}
	for uid, seen := range g.of {
		if seen.subscription == nil && !keep(uid) {
			delete(g.of, uid)
		}
	}
	if len(g.of) == 0 {
		delete(s.groups, key)
	}
}

// keepRows keeps of the tables of a group what its newest roster leaves; nil: the group does not
// exist.
func (s *Sightings) keepRows(key groupKey, r *Roster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.groups[key]; g != nil {
		for _, seen := range g.of {
			seen.Report.Table = rowsBy(r, seen.Report.Table)
		}
	}
}

// opened makes the subscription the current one of its pod.
func (s *Sightings) opened(n identity.Name, by *subscription) {
	s.change(n, func() bool {
		key := groupKey{n.Namespace, n.Group}
		g := s.groups[key]
		if g == nil {
			g = &sightedGroup{of: map[string]*sighting{}, claims: map[claim]int{}}
			s.groups[key] = g
		}
		seen := g.of[n.UID]
		if seen == nil {
			seen = &sighting{Sighting: Sighting{Name: n.Pod, UID: n.UID}}
			g.of[n.UID] = seen
		}
		if seen.subscription != nil && seen.subscription.number > by.number {
			return false
		}
		seen.subscription = by
		return true
	})
}

// reported stores a report, unless the pod has a newer subscription.
func (s *Sightings) reported(n identity.Name, by *subscription, r Report) {
	s.update(n, by, func(_ *sightedGroup, seen *sighting) {
		if !seen.Connected {
			seen.Connected, seen.Since = true, s.now()
			s.connected++
		}
		seen.Report = r
	})
}

// closed ends a subscription, unless the pod has a newer one.
func (s *Sightings) closed(n identity.Name, by *subscription) {
	s.update(n, by, func(g *sightedGroup, seen *sighting) {
		seen.subscription = nil
		if seen.Since.IsZero() { // it never reported
			delete(g.of, n.UID)
			return
		}
		if seen.Connected {
			seen.Connected, seen.Since = false, s.now()
			s.connected--
		}
	})
}

// update changes what the current subscription of a pod may change.
func (s *Sightings) update(n identity.Name, by *subscription, set func(*sightedGroup, *sighting)) {
	s.change(n, func() bool {
		g := s.groups[groupKey{n.Namespace, n.Group}]
		if g == nil || g.of[n.UID] == nil || g.of[n.UID].subscription != by {
			return false
		}
		seen := g.of[n.UID]
		g.count(seen, -1)
		set(g, seen)
		g.count(seen, 1)
		return true
	})
}

// count adds so many to the claim of an agent, if it is connected.
func (g *sightedGroup) count(seen *sighting, n int) {
	if !seen.Connected {
		return
	}
	c := claim{}
	if r := &seen.Report; !r.Electing && r.Coordinator != "" {
		c = claim{r.Coordinator, r.Epoch, r.Coordinator == seen.Name}
	}
	if g.claims[c] += n; g.claims[c] == 0 {
		delete(g.claims, c)
	}
}

func (s *Sightings) change(n identity.Name, change func() bool) {
	s.mu.Lock()
	happened, changed := change(), s.changed
	s.mu.Unlock()
	if happened {
		changed(n.Namespace, n.Group)
	}
}
