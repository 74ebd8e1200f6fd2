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
// lead. Its size is bounded by the number of pods with a certificate; Forget drops what is no
// longer needed. It is safe for concurrent use.
type Sightings struct {
	now func() time.Time

	mu        sync.Mutex
	groups    map[groupKey]map[string]*sighting // by pod UID
	connected int                               // of all of them
	changed   func(namespace, group string)
}

type sighting struct {
	Sighting
	subscription *subscription // the subscription that may change it; nil if it is closed
}

// NewSightings returns an empty store.
func NewSightings(now func() time.Time) *Sightings {
	return &Sightings{
		now:     now,
		groups:  map[groupKey]map[string]*sighting{},
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
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Sighting
	for _, seen := range s.groups[groupKey{namespace, group}] {
		if !seen.Since.IsZero() { // a subscription that has not reported yet is not a sighting
			all = append(all, seen.Sighting)
		}
	}
	slices.SortFunc(all, func(a, b Sighting) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return all
}

// Agreed returns the coordinator that all connected agents of a group follow, and under which
// epoch, and how many they are. An agent that is not bound by an epoch reports none, which fits to
// any. One that stands still, or is cut off, does not count if it was the leaseholder of an epoch
// before: its last report says still that it leads. The name is empty if they do not agree, or if
// one takes part in an election.
func (s *Sightings) Agreed(namespace, group string) (coordinator string, epoch int64, agents int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.groups[groupKey{namespace, group}]
	newest := &Report{}
	for _, seen := range all {
		if seen.Connected && seen.Report.Epoch > newest.Epoch {
			newest = &seen.Report
		}
	}
	for _, seen := range all {
		r := &seen.Report
		superseded := r.Coordinator == seen.Name && newest.Coordinator != seen.Name &&
			0 < r.Epoch && r.Epoch < newest.Epoch
		switch {
		case !seen.Connected, superseded && !r.Electing:
			continue
		case r.Electing, r.Coordinator == "":
			return "", 0, 0
		case agents > 0 && r.Coordinator != coordinator, epoch != 0 && r.Epoch != 0 && r.Epoch != epoch:
			return "", 0, 0
		}
		coordinator, epoch = r.Coordinator, max(epoch, r.Epoch)
		agents++
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
	for uid, seen := range s.groups[key] {
		if seen.subscription == nil && !keep(uid) {
			delete(s.groups[key], uid)
		}
	}
	if len(s.groups[key]) == 0 {
		delete(s.groups, key)
	}
}

// opened makes the subscription the current one of its pod.
func (s *Sightings) opened(n identity.Name, by *subscription) {
	s.change(n, func() bool {
		key := groupKey{n.Namespace, n.Group}
		if s.groups[key] == nil {
			s.groups[key] = map[string]*sighting{}
		}
		seen := s.groups[key][n.UID]
		if seen == nil {
			seen = &sighting{Sighting: Sighting{Name: n.Pod, UID: n.UID}}
			s.groups[key][n.UID] = seen
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
	s.change(n, func() bool {
		seen := s.groups[groupKey{n.Namespace, n.Group}][n.UID]
		if seen == nil || seen.subscription != by {
			return false
		}
		if !seen.Connected {
			seen.Connected, seen.Since = true, s.now()
			s.connected++
		}
		seen.Report = r
		return true
	})
}

// closed ends a subscription, unless the pod has a newer one.
func (s *Sightings) closed(n identity.Name, by *subscription) {
	s.change(n, func() bool {
		key := groupKey{n.Namespace, n.Group}
		seen := s.groups[key][n.UID]
		if seen == nil || seen.subscription != by {
			return false
		}
		seen.subscription = nil
		if seen.Since.IsZero() { // it never reported
			delete(s.groups[key], n.UID)
			return true
		}
		if seen.Connected {
			seen.Connected, seen.Since = false, s.now()
			s.connected--
		}
		return true
	})
}

func (s *Sightings) change(n identity.Name, change func() bool) {
	s.mu.Lock()
	happened, changed := change(), s.changed
	s.mu.Unlock()
	if happened {
		changed(n.Namespace, n.Group)
	}
}
