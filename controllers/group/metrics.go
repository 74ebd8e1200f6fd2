package group

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// Metrics are the manager's own metrics; controller-runtime adds others.
type Metrics struct {
	coordinator *prometheus.GaugeVec
	epoch       *prometheus.GaugeVec
	elections   *prometheus.CounterVec
}

// NewMetrics registers the metrics of a manager whose groups and agents these are.
func NewMetrics(registry prometheus.Registerer, groups *Reconciler,
	sightings *roster.Sightings) (*Metrics, error) {
	m := &Metrics{
		coordinator: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "podesta_group_coordinator",
			Help: "1 for the pod that is the coordinator of the group, as published in its status.",
		}, []string{"namespace", "group", "pod"}),
		epoch: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "podesta_group_epoch",
			Help: "Epoch (generation * 2^20 + ballot) of the coordinator that was last published " +
				"in the status of the Guarded group.",
		}, []string{"namespace", "group"}),
		elections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "podesta_elections_total",
			Help: "Changes of the coordinator, as published in the status of the group.",
		}, []string{"namespace", "group"}),
	}
	for _, c := range []prometheus.Collector{
		m.coordinator, m.epoch, m.elections,
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

// published counts what has changed from one published status to the next.
func (m *Metrics) published(group *v1.ElectionGroup, was, is v1.ElectionGroupStatus) {
	before, now := coordinatorName(was), coordinatorName(is)
	if before != now && before != "" {
		m.coordinator.DeleteLabelValues(group.Namespace, group.Name, before)
	}
	if now == "" {
		return
	}
	m.coordinator.WithLabelValues(group.Namespace, group.Name, now).Set(1)
	if is.Coordinator.Epoch > 0 {
		m.epoch.WithLabelValues(group.Namespace, group.Name).Set(float64(is.Coordinator.Epoch))
	}
	if before != now {
		m.elections.WithLabelValues(group.Namespace, group.Name).Inc()
	}
}

// groupDeleted drops the series of a group.
func (m *Metrics) groupDeleted(key types.NamespacedName) {
	labels := prometheus.Labels{"namespace": key.Namespace, "group": key.Name}
	m.coordinator.DeletePartialMatch(labels)
	m.epoch.DeletePartialMatch(labels)
	m.elections.DeletePartialMatch(labels)
}
