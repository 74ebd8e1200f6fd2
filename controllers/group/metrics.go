package group

import (
	"slices"

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
	hasCoordinator *prometheus.GaugeVec
	coordinator    *prometheus.GaugeVec
	epoch          *prometheus.GaugeVec
	elections      *prometheus.CounterVec
	processes      *prometheus.GaugeVec
	connected      *prometheus.GaugeVec
	voters         *prometheus.GaugeVec
	tolerated      *prometheus.GaugeVec
	degraded       *prometheus.GaugeVec
	stalled        *prometheus.GaugeVec
	writes         *prometheus.CounterVec
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
		hasCoordinator: ofGroup("podesta_group_has_coordinator",
			"1 if the group has a coordinator, as published in its status, else 0."),
		coordinator: ofGroup("podesta_group_coordinator",
			"1 for the pod that is the coordinator of the group, as published in its status.", "pod"),
		epoch: ofGroup("podesta_group_epoch",
			"Epoch (generation * 2^20 + ballot) of the coordinator that was last published in the "+
				"status of the group; 0 in a Classic group."),
		elections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podesta_elections_total",
			Help: "Times that a coordinator was published in the status of the group where there was none " +
				"or another before.",
		}, groupLabels),
		processes: ofGroup("podesta_group_processes",
			"Processes in the process status table of the group."),
		connected: ofGroup("podesta_group_processes_connected",
			"Processes of the group whose agents are connected to the manager."),
		voters: ofGroup("podesta_group_voters",
			"Voters on the roster of the group; 0 in a Classic group."),
		tolerated: ofGroup("podesta_group_tolerated_failures",
			"Voters that can fail while a majority of the voters remains, as published in the status "+
				"of the Guarded group."),
		degraded: ofGroup("podesta_group_degraded",
			"1 for each reason for which the group is degraded, as published in its status, else 0.",
			"reason"),
		stalled: ofGroup("podesta_group_stalled",
			"1 for the reason for which the group is stalled until a person acts, as published in its "+
				"status, else 0.", "reason"),
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
		m.hasCoordinator, m.coordinator, m.epoch, m.elections, m.processes, m.connected, m.voters,
		m.tolerated, m.degraded, m.stalled, m.writes,
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

var groupLabels = []string{"namespace", "group"}

// ofGroup is a family of gauges of groups.
func ofGroup(name, help string, more ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help},
		slices.Concat(groupLabels, more))
}

// published shows what was published, and counts what has changed from one status to the next.
func (m *Metrics) published(group *v1.ElectionGroup, was, is v1.ElectionGroupStatus) {
	labels := []string{group.Namespace, group.Name}
	before, now := coordinatorName(was), coordinatorName(is)
	if before != now && before != "" {
		m.coordinator.DeleteLabelValues(group.Namespace, group.Name, before)
	}
	elections, epoch := m.elections.WithLabelValues(labels...), m.epoch.WithLabelValues(labels...)
	m.hasCoordinator.WithLabelValues(labels...).Set(0)
	m.showTable(group, is)
	if now == "" {
		return
	}
	m.hasCoordinator.WithLabelValues(labels...).Set(1)
	m.coordinator.WithLabelValues(group.Namespace, group.Name, now).Set(1)
	if is.Coordinator.Epoch > 0 {
		epoch.Set(float64(is.Coordinator.Epoch))
	}
	if before != now {
		elections.Inc()
	}
}

// showTable shows who takes part, by a published status.
func (m *Metrics) showTable(group *v1.ElectionGroup, is v1.ElectionGroupStatus) {
	labels := []string{group.Namespace, group.Name}
	connected, voters := 0, 0
	for _, p := range is.Processes {
		if p.Connected != nil && *p.Connected {
			connected++
		}
	}
	if is.Roster != nil && guarded(group) {
		for _, p := range is.Roster.Members {
			if ptr.Deref(p.Voter, false) {
				voters++
			}
		}
	}
	m.processes.WithLabelValues(labels...).Set(float64(len(is.Processes)))
	m.connected.WithLabelValues(labels...).Set(float64(connected))
	m.voters.WithLabelValues(labels...).Set(float64(voters))
	if guarded(group) { // nil until the group has voters
		m.tolerated.WithLabelValues(labels...).Set(float64(ptr.Deref(is.ToleratedFailures, 0)))
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
func (m *Metrics) groupDeleted(key types.NamespacedName) {
	labels := prometheus.Labels{"namespace": key.Namespace, "group": key.Name}
	for _, family := range []interface{ DeletePartialMatch(prometheus.Labels) int }{
		m.hasCoordinator, m.coordinator, m.epoch, m.elections, m.processes, m.connected, m.voters,
		m.tolerated, m.degraded, m.stalled,
	} {
		family.DeletePartialMatch(labels)
	}
}
