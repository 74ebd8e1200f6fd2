package group

import (
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// figures are what metrics show of a group. A group has some 26 series, so they are made when they
// are collected: to keep them takes 23 KiB a group.
type figures struct {
	coordinator string // the name of its pod; empty: none
	epoch       int64  // of the coordinator that was published last
	elections   int
	processes   int
	connected   int
	voters      int
	tolerated   *int32 // nil: a Classic group
	judged      bool   // what follows is known
	degraded    []string
	stalled     string // the reason; empty: it is not
}

// series are the metrics of groups.
type series struct {
	mu     sync.Mutex
	groups map[types.NamespacedName]figures
}

// of has change change what is shown of a group.
func (s *series) of(key types.NamespacedName, change func(*figures)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.groups[key]
	change(&f)
	s.groups[key] = f
}

func (s *series) drop(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.groups, key)
}

// family describes the series of a name. Labels are in the order of their names, as the registry
// wants them: group, namespace, then one more.
func family(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, slices.Concat([]string{"group", "namespace"}, more), nil)
}

var (
	hasCoordinator = family("podesta_group_has_coordinator",
		"1 if the group has a coordinator, as published in its status, else 0.")
	coordinatorIs = family("podesta_group_coordinator",
		"1 for the pod that is the coordinator of the group, as published in its status.", "pod")
	epochIs = family("podesta_group_epoch",
		"Epoch (generation * 2^20 + ballot) of the coordinator that was last published in the "+
			"status of the group; 0 in a Classic group.")
	electionsTotal = family("podesta_elections_total",
		"Times that a coordinator was published in the status of the group where there was none or "+
			"another before.")
	processes = family("podesta_group_processes",
		"Processes in the process status table of the group.")
	connected = family("podesta_group_processes_connected",
		"Processes of the group whose agents are connected to the manager.")
	voters = family("podesta_group_voters",
		"Voters on the roster of the group; 0 in a Classic group.")
	tolerated = family("podesta_group_tolerated_failures",
		"Voters that can fail while a majority of the voters remains, as published in the status "+
			"of the Guarded group.")
	degraded = family("podesta_group_degraded",
		"1 for each reason for which the group is degraded, as published in its status, else 0.",
		"reason")
	stalled = family("podesta_group_stalled",
		"1 for the reason for which the group is stalled until a person acts, as published in its "+
			"status, else 0.", "reason")
)

// Describe implements prometheus.Collector.
func (s *series) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		hasCoordinator, coordinatorIs, epochIs, electionsTotal, processes, connected, voters, tolerated,
		degraded, stalled,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (s *series) Collect(to chan<- prometheus.Metric) {
	s.mu.Lock()
	groups := maps.Clone(s.groups) // what is in it is not changed
	s.mu.Unlock()
	for key, f := range groups {
		f.collect(key, to)
	}
}

func (f figures) collect(key types.NamespacedName, to chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, value float64, more ...string) {
		labels := append([]string{key.Name, key.Namespace}, more...)
		to <- prometheus.MustNewConstMetric(d, kind, value, labels...)
	}
	gauge := func(d *prometheus.Desc, value float64, more ...string) {
		send(d, prometheus.GaugeValue, value, more...)
	}
	gauge(hasCoordinator, oneIf(f.coordinator != ""))
	if f.coordinator != "" {
		gauge(coordinatorIs, 1, f.coordinator)
	}
	gauge(epochIs, float64(f.epoch))
	send(electionsTotal, prometheus.CounterValue, float64(f.elections))
	gauge(processes, float64(f.processes))
	gauge(connected, float64(f.connected))
	gauge(voters, float64(f.voters))
	if f.tolerated != nil {
		gauge(tolerated, float64(*f.tolerated))
	}
	if !f.judged {
		return
	}
	for _, reason := range degradedReasons {
		gauge(degraded, oneIf(slices.Contains(f.degraded, reason)), reason)
	}
	for _, reason := range stalledReasons {
		gauge(stalled, oneIf(f.stalled == reason), reason)
	}
}

func oneIf(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
