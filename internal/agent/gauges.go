package agent

import (
	"github.com/prometheus/client_golang/prometheus"
)

// stateGauges are the gauges of the state of a process. One scrape reads one view.
type stateGauges struct {
	views  *Views
	ledger *Ledger
	meter  *Meter
	gauges []gauge
	named  []named
}

// gauge is a family with one series.
type gauge struct {
	desc  *prometheus.Desc
	value func(snapshot) float64
}

// named is a family with one series, whose labels carry the information. It is absent while labels
// returns nil.
type named struct {
	desc   *prometheus.Desc
	value  func(snapshot) float64
	labels func(View) []string
}

// snapshot is what a scrape shows.
type snapshot struct {
	View
	acts        bool
	remaining   float64 // of the permission, in seconds
	sessions    int
	links       int
	disagreeing int
}

func newStateGauges(b *Views, l *Ledger, m *Meter) *stateGauges {
	s := &stateGauges{
		views:  b,
		ledger: l,
		meter:  m,
	}
	s.addCoordinator()
	s.addGroup()
	s.addLease()
	return s
}

func (s *stateGauges) add(name, help string, value func(snapshot) float64) {
	s.gauges = append(s.gauges, gauge{prometheus.NewDesc(name, help, nil, nil), value})
}

func (s *stateGauges) addNamed(name, help string, keys []string, labels func(View) []string,
	value func(snapshot) float64) {
	s.named = append(s.named, named{prometheus.NewDesc(name, help, keys, nil), value, labels})
}

func one(snapshot) float64 { return 1 }

func (s *stateGauges) addCoordinator() {
	s.add("podesta_agent_is_coordinator", "1 while this process may act as the coordinator, else 0.",
		func(v snapshot) float64 { return number(v.acts) })
	s.add("podesta_agent_has_coordinator",
		"1 while this process follows a coordinator or is one, else 0.",
		func(v snapshot) float64 { return number(v.Coordinator != "") })
	s.addNamed("podesta_agent_coordinator_info",
		"1, with the name of the coordinator that this process follows; absent while there is none.",
		[]string{"coordinator"}, func(v View) []string {
			if v.Coordinator == "" {
				return nil
			}
			return []string{v.Coordinator}
		}, one)
	s.addNamed("leader_election_master_status",
		"1 while this process may act as the coordinator of the group of that name, else 0. "+
			"Named as in client-go.",
		[]string{"name"}, func(v View) []string {
			if v.Name == "" {
				return nil
			}
			return []string{v.GroupName}
		}, func(v snapshot) float64 { return number(v.acts) })
	s.add("podesta_agent_electing", "1 while this process takes part in an election, else 0.",
		func(v snapshot) float64 { return number(v.Electing) })
	s.add("podesta_agent_candidate", "1 while this process is a candidate, else 0.",
		func(v snapshot) float64 { return number(v.Name != "" && v.NotCandidate == "") })
	s.add("podesta_agent_peers_disagreeing",
		"Other processes whose newest answer named another coordinator than this process follows.",
		func(v snapshot) float64 { return float64(v.disagreeing) })
}

func (s *stateGauges) addGroup() {
	s.addNamed("podesta_agent_group_info",
		"1, with the algorithm and the safety of the group; absent without a roster.",
		[]string{"algorithm", "safety"}, func(v View) []string {
			if v.Name == "" {
				return nil
			}
			return []string{v.Algorithm, v.Safety}
		}, one)
	s.add("podesta_agent_roster_generation", "Generation of the roster in use.",
		func(v snapshot) float64 { return float64(v.Generation) })
	s.add("podesta_agent_processes", "Processes on the roster, including this one.",
		func(v snapshot) float64 { return float64(len(v.Processes)) })
	s.add("podesta_agent_peers_up",
		"Other processes of the roster that this process does not take for crashed.",
		func(v snapshot) float64 { return float64(v.peersUp()) })
	s.add("podesta_agent_links_open", "Other processes to which the link of this process is open.",
		func(v snapshot) float64 { return float64(v.links) })
	s.add("podesta_agent_voters", "Voters on the roster; 0 in a Classic group.",
		func(v snapshot) float64 { return float64(len(v.Voters)) })
	s.add("podesta_agent_may_fail",
		"Voters that may fail while a majority remains, as this process sees it; in a Classic group, "+
			"the other processes that are up.",
		func(v snapshot) float64 { return float64(v.tolerated()) })
	s.add("podesta_agent_timeout_seconds",
		"T, within which a healthy process answers, as this process measures it.",
		func(v snapshot) float64 { return v.T.Seconds() })
	s.add("podesta_agent_sessions", "Sessions that the app has open.",
		func(v snapshot) float64 { return float64(v.sessions) })
}

func (s *stateGauges) addLease() {
	s.add("podesta_agent_epoch",
		"Epoch (generation * 2^20 + ballot) under which this process follows or coordinates; 0 in a "+
			"Classic group and while there is no coordinator.",
		func(v snapshot) float64 { return float64(v.Epoch) })
	s.add("podesta_agent_lease_remaining_seconds",
		"How long this process may still act without another renewal; 0 while it may not.",
		func(v snapshot) float64 { return v.remaining })
}

// Describe implements prometheus.Collector.
func (s *stateGauges) Describe(all chan<- *prometheus.Desc) {
	for _, g := range s.gauges {
		all <- g.desc
	}
	for _, n := range s.named {
		all <- n.desc
	}
}

// Collect implements prometheus.Collector.
func (s *stateGauges) Collect(all chan<- prometheus.Metric) {
	view, _ := s.views.Read()
	v := snapshot{View: view, sessions: s.ledger.open()}
	remaining := s.ledger.remaining()
	v.acts = v.Coordinates() && (!v.guarded() || remaining > 0)
	if v.acts {
		v.remaining = remaining.Seconds()
	}
	v.links, v.disagreeing = s.meter.others(v.Coordinator)
	for _, g := range s.gauges {
		all <- prometheus.MustNewConstMetric(g.desc, prometheus.GaugeValue, g.value(v))
	}
	for _, n := range s.named {
		if labels := n.labels(view); labels != nil {
			all <- prometheus.MustNewConstMetric(n.desc, prometheus.GaugeValue, n.value(v), labels...)
		}
	}
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
