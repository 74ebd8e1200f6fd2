package agent

import (
	"fmt"
	"io"
	"math"

	"github.com/VictoriaMetrics/metrics"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/node"
)

// Meter counts what a process does, for Prometheus.
type Meter struct {
	set                *metrics.Set
	sum                *metrics.FloatCounter
	questions, answers *metrics.Counter // of the failure detector
}

// The buckets of election durations, in seconds: from a link that a kernel closed to several
// timeouts in a row.
var durations = [...]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, math.Inf(1)}

const durationMetric = "podesta_agent_election_duration_seconds"

// NewMeter returns a meter of what the board and the ledger show. Drops counts the messages that
// the links have dropped.
func NewMeter(b *Board, ledger *Ledger, drops func() uint64) *Meter {
	set := metrics.NewSet()
	gauge := func(name string, value func(View) float64) {
		set.NewGauge(name, func() float64 {
			v, _ := b.Read()
			return value(v)
		})
	}
	gauge("podesta_agent_is_coordinator", func(v View) float64 {
		return number(v.Coordinates() && (!v.guarded() || ledger.Valid()))
	})
	gauge("podesta_agent_epoch", func(v View) float64 { return float64(v.Epoch) })
	gauge("podesta_agent_has_coordinator", func(v View) float64 { return number(v.Coordinator != "") })
	gauge("podesta_agent_electing", func(v View) float64 { return number(v.Electing) })
	gauge("podesta_agent_roster_generation", func(v View) float64 { return float64(v.Generation) })
	gauge("podesta_agent_processes", func(v View) float64 { return float64(len(v.Processes)) })
	gauge("podesta_agent_timeout_seconds", func(v View) float64 { return v.T.Seconds() })
	set.NewGauge("podesta_agent_links_dropped_messages", func() float64 { return float64(drops()) })
	return &Meter{
		set:       set,
		sum:       set.NewFloatCounter(durationMetric + "_sum"),
		questions: set.NewCounter("podesta_agent_questions_sent_total"),
		answers:   set.NewCounter("podesta_agent_answers_sent_total"),
	}
}

func (m *Meter) sent(k election.Kind) {
	m.set.GetOrCreateCounter(fmt.Sprintf("podesta_agent_messages_sent_total{kind=%q}", k)).Inc()
}

func (m *Meter) requested(k lease.Kind) {
	m.set.GetOrCreateCounter(fmt.Sprintf("podesta_agent_lease_requests_sent_total{kind=%q}", k)).Inc()
}

func (m *Meter) responded(granted bool) {
	m.set.GetOrCreateCounter(fmt.Sprintf(`podesta_agent_lease_responses_sent_total{granted="%t"}`, granted)).Inc()
}

func (m *Meter) elected(last *node.Account) {
	m.set.GetOrCreateCounter(fmt.Sprintf("podesta_agent_elections_total{reason=%q}", last.Reason)).Inc()
	seconds := last.Duration.Seconds()
	for _, limit := range durations { // cumulative, as Prometheus wants it; the library's own histogram is not
		if seconds <= limit {
			m.set.GetOrCreateCounter(fmt.Sprintf(durationMetric+`_bucket{le="%v"}`, limit)).Inc()
		}
	}
	m.sum.Add(seconds)
	m.set.GetOrCreateCounter(durationMetric + "_count").Inc()
}

// Write writes all metrics in Prometheus' text format, those of the Go runtime and the process too.
func (m *Meter) Write(w io.Writer) {
	m.set.WritePrometheus(w)
	metrics.WriteProcessMetrics(w)
}

func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
