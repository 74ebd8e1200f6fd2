package controllers

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
)

// memory is what this manager remembers of a group from one pass to the next. Nothing in it need outlive the manager.
type memory struct {
	uid      types.UID
	begun    time.Time
	settled  bool
	viewed   time.Time        // when a view of the group was last decided about
	election string           // the decision that the published lastElection tells of
	epoch    int64            // the highest that was published
	roster   *v1.RosterStatus // the newest that was persisted
	ledger   ledger

	refusal refusal // of the group's Service

	// What was written last, because the cache may not show it yet.
	status  v1.ElectionGroupStatus
	version string // resource version of the write
	roles   map[types.UID]role
	marked  map[types.UID]string // pods that carry the role label, by name: one that loses the group's label leaves the cache
}

// role is a write of the role label to a pod.
type role struct {
	coordinator bool
	version     string
}

// newest is the status as last written, by whomever.
func (m *memory) newest(group *v1.ElectionGroup) v1.ElectionGroupStatus {
	if older(group.ResourceVersion, m.version) {
		return *m.status.DeepCopy()
	}
	return *group.Status.DeepCopy()
}

// keepRoster returns the newest roster that was persisted, and whether it is there no longer: somebody has wiped the status, or
// restored an old one. Who the voters were must not be lost while they may act.
func (m *memory) keepRoster(found *v1.RosterStatus) (newest *v1.RosterStatus, wiped bool) {
	if m.roster != nil && (found == nil || found.Generation < m.roster.Generation) {
		return m.roster.DeepCopy(), true
	}
	m.roster = found.DeepCopy()
	return found, false
}

func (m *memory) wrote(status v1.ElectionGroupStatus, version string) {
	m.status, m.version = *status.DeepCopy(), version
}

// holders are the pods that carry the role label.
func (m *memory) holders(pods []*corev1.Pod) []*corev1.Pod {
	var holders []*corev1.Pod
	kept := map[types.UID]role{}
	for _, pod := range pods {
		holds := pod.Labels[v1.RoleLabel] == v1.RoleCoordinator
		if written, ok := m.roles[pod.UID]; ok && older(pod.ResourceVersion, written.version) {
			holds = written.coordinator
			kept[pod.UID] = written
		}
		if holds {
			holders = append(holders, pod)
			m.marked[pod.UID] = pod.Name
		}
	}
	m.roles = kept
	return holders
}

// memories are the groups that this manager has seen. A group's memory is used by one reconciliation at a time.
type memories struct {
	mu     sync.Mutex
	groups map[types.NamespacedName]*memory
}

// of returns the memory of a group, and whether it takes the place of another one's: a group that was made anew under an old name
// is another one.
func (ms *memories) of(key types.NamespacedName, group *v1.ElectionGroup, now time.Time) (m *memory, instead bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	m = ms.groups[key]
	if m == nil || m.uid != group.UID {
		instead = m != nil
		m = &memory{uid: group.UID, begun: now, viewed: now, roles: map[types.UID]role{}, marked: map[types.UID]string{}}
		if ms.groups == nil {
			ms.groups = map[types.NamespacedName]*memory{}
		}
		ms.groups[key] = m
	}
	return m, instead
}

func (ms *memories) forget(key types.NamespacedName) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	delete(ms.groups, key)
}

func (ms *memories) len() int {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return len(ms.groups)
}
