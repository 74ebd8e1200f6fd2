package group

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
)

// state is what this manager carries from one pass over a group to the next. Nothing in it need
// outlive the manager. A pass reads it, and stores another one when it ends.
type state struct {
	uid        types.UID // of the group: one that was made again under an old name is another one
	begun      time.Time // when this manager first saw the group
	after      int64     // the newest generation of a group of this name before it; 0: not known
	membership membership.State
	// since when this manager knows that the status was set back; zero: it was not
	setBackSince time.Time

	showing  bool      // this manager has decided about the group's status before
	statusAt time.Time // when it last did
	epoch    int64     // the highest that was published
	refusal  refusal   // of the group's Service
	lookup   lookup    // of the Service's name

	// What was written last, because the cache may not show it yet.
	written        v1.ElectionGroupStatus
	writtenVersion string // resource version of that write
	labels         roleLabels

	writes writeBudget // what is left of it for the status and the role label
}

// generation is that of the newest roster; 0: there is none.
func (s *state) generation() int64 {
	if newest := s.membership.Roster(); newest != nil {
		return newest.Generation
	}
	return 0
}

// next returns the state that a pass starts from to make the one that it stores.
func (s state) next(d decision) state {
	s.membership, s.setBackSince = d.membership, d.setBackSince
	s.labels = roleLabels{
		writes:  maps.Clone(d.role.labels.writes),
		pods:    maps.Clone(d.role.labels.pods),
		refused: maps.Clone(d.role.labels.refused),
	}
	if s.writes.bucket == nil {
		s.writes = newWriteBudget()
	}
	return s
}

// newest returns the status as it was last written by anybody.
func (s *state) newest(group *v1.ElectionGroup) v1.ElectionGroupStatus {
	if older(group.ResourceVersion, s.writtenVersion) {
		return *s.written.DeepCopy()
	}
	return *group.Status.DeepCopy()
}

// observedVersion returns the resource version of the status that newest returns.
func (s *state) observedVersion(group *v1.ElectionGroup) string {
	if older(group.ResourceVersion, s.writtenVersion) {
		return s.writtenVersion
	}
	return group.ResourceVersion
}

// lacks reports whether a coordinator on which so many agents agree is missing from the status that
// this manager wrote last. Fewer than a majority of the roster do not count: while a group forms,
// the others are waited for.
func (s *state) lacks(coordinator string, epoch int64, agents int) bool {
	newest := s.membership.Roster()
	if coordinator == "" || s.writtenVersion == "" || newest == nil ||
		2*agents <= len(newest.Members) {
		return false
	}
	return coordinator != coordinatorName(s.written) || epoch != epochOf(s.written)
}

func (s *state) wrote(status v1.ElectionGroupStatus, version string) {
	s.written, s.writtenVersion = *status.DeepCopy(), version
}

// older reports whether one resource version is older than another; nothing is older than an empty
// one.
func older(version, than string) bool {
	if than == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(version, than)
	return err == nil && order < 0
}

// states are those of the groups that this manager has seen. Safe for concurrent use;
// controller-runtime runs one pass over a group at a time.
type states struct {
	mu     sync.Mutex
	groups map[types.NamespacedName]state
	// deleted has the newest generations of groups that were deleted, while the clock would give a
	// group that is made again under the name the same one, or an older one.
	deleted map[types.NamespacedName]int64
}

func (s *states) get(key types.NamespacedName) (state, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.groups[key]
	return found, ok
}

func (s *states) put(key types.NamespacedName, next state) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups == nil {
		s.groups = map[types.NamespacedName]state{}
	}
	s.groups[key] = next
}

// drop forgets a group that was deleted, but for its newest generation. Date is what the API
// server's clock shows.
func (s *states) drop(key types.NamespacedName, date time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := membership.NextGeneration(nil, nil, date)
	maps.DeleteFunc(s.deleted, func(_ types.NamespacedName, newest int64) bool {
		return newest < next
	})
	group, ok := s.groups[key]
	if newest := max(group.after, group.generation()); ok && newest >= next {
		if s.deleted == nil {
			s.deleted = map[types.NamespacedName]int64{}
		}
		s.deleted[key] = newest
	}
	delete(s.groups, key)
}

// generationBefore is the newest generation of a group of this name that was deleted; 0: not known,
// or passed by the clock.
func (s *states) generationBefore(key types.NamespacedName) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.deleted[key]
}

func (s *states) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.groups)
}
