package group

import (
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// Metrics are the manager's own metrics; controller-runtime adds others. The series of a group are
// there from its first published status until it is deleted, and count from 0; only the name of its
// coordinator comes and goes. Only the manager that leads has any.
type Metrics struct {
	groups series
	writes *prometheus.CounterVec
}

// The values of labels: the part of a group's status that was written, and the result.
const (
	partRoster = "roster"
	partStatus = "status"

	writeSucceeded  = "success"
	writeConflicted = "conflict"
	writeFailed     = "error"
)

// NewMetrics registers the manager's metrics. Groups and sightings supply the counts.
func NewMetrics(registry prometheus.Registerer, groups *Reconciler,
	sightings *roster.Sightings) (*Metrics, error) {
	m := &Metrics{
		groups: series{groups: map[types.NamespacedName]figures{}},
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podesta_status_writes_total",
			Help: "Writes of the manager to the status of groups, by part and result.",
		}, []string{"part", "result"}),
	}
	for _, result := range []string{writeSucceeded, writeConflicted, writeFailed} {
		m.writes.WithLabelValues(partRoster, result)
		m.writes.WithLabelValues(partStatus, result)
	}
	for _, c := range []prometheus.Collector{
		&m.groups, m.writes,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "podesta_groups",
			Help: "ElectionGroups that this manager reconciles."},
			func() float64 { return float64(groups.states.len()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "podesta_agents_connected",
			Help: "Agents that are connected to this manager."},
			func() float64 { return float64(sightings.Connected()) }),
	} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// published shows what was published, and counts what has changed from one status to the next.
func (m *Metrics) published(group *v1.ElectionGroup, was, is v1.ElectionGroupStatus) {
	before, now := coordinatorName(was), coordinatorName(is)
	m.groups.of(client.ObjectKeyFromObject(group), func(f *figures) {
		f.showTable(group, is)
		f.coordinator = now
		if now == "" {
			return
		}
		if is.Coordinator.Epoch > 0 {
			f.epoch = is.Coordinator.Epoch
		}
		if before != now {
			f.elections++
		}
	})
}

// showTable shows who takes part, by a published status.
func (f *figures) showTable(group *v1.ElectionGroup, is v1.ElectionGroupStatus) {
	f.processes, f.connected, f.voters, f.tolerated = len(is.Processes), 0, 0, nil
	for _, p := range is.Processes {
		if p.Connected != nil && *p.Connected {
			f.connected++
		}
	}
	if !guarded(group) {
		return
	}
	f.tolerated = new(ptr.Deref(is.ToleratedFailures, 0)) // nil until the group has voters
	if is.Roster != nil {
		for _, p := range is.Roster.Members {
			if ptr.Deref(p.Voter, false) {
				f.voters++
			}
		}
	}
}

// wrote counts a write of a part of a status.
func (m *Metrics) wrote(owner client.FieldOwner, err error) {
	part, result := partStatus, writeSucceeded
	if owner == rosterOwner {
		part = partRoster
	}
	switch {
	case apierrors.IsConflict(err):
		result = writeConflicted
	case err != nil:
		result = writeFailed
	}
	m.writes.WithLabelValues(part, result).Inc()
}

// groupDeleted drops the series of a group.
func (m *Metrics) groupDeleted(key types.NamespacedName) { m.groups.drop(key) }
