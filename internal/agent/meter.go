package agent

import (
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/podesta-dev/podesta/internal/election"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/logqueue"
	"github.com/podesta-dev/podesta/internal/node"
)

// Meter counts what a process does, and says how it stands, for Prometheus. Its series are there
// from the start, with 0, so that an increase is never the first thing that is seen of one; those
// of elections are there from the first roster on. No label but the name of the coordinator comes
// from another process. Safe for concurrent use.
type Meter struct {
	registry *prometheus.Registry

	elections        *prometheus.CounterVec
	electionDuration prometheus.Histogram
	electionTimeouts prometheus.Counter
	changes          prometheus.Counter
	suspicions       prometheus.Counter

	messagesSent, messagesReceived kinds[election.Kind]
	requestsSent                   kinds[lease.Kind]
	responsesSent                  kinds[bool]
	questionsSent, answersSent     prometheus.Counter

	lease         prometheus.Gauge // seconds
	renewal       prometheus.Histogram
	lapses        prometheus.Counter
	delays        kinds[lease.Late]
	pauses        prometheus.Counter
	paused        prometheus.Counter // seconds
	writeFailures prometheus.Counter

	mu          sync.Mutex
	coordinator string              // that was followed last
	up          map[string]struct{} // processes to which our link is open
	follows     map[string]string   // whom another process follows, by its newest answer; never empty
}

// Sources are what a Meter reads at each scrape, apart from the views and the ledger.
type Sources struct {
	Dropped  func() uint64    // messages that the links have dropped
	NotAfter func() time.Time // the end of the certificate; zero: there is none. Nil: never any
}

// kinds are the counters of a family with one label, whose values are all known beforehand.
type kinds[K comparable] map[K]prometheus.Counter

func (k kinds[K]) inc(kind K) {
	if c := k[kind]; c != nil { // a kind that we do not know is of a newer release, or nonsense
		c.Inc()
	}
}

// The buckets of durations, in seconds: those of elections go from a link that a kernel closed to
// several timeouts in a row, those of renewals from one machine to a continent.
var (
	electionBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	renewalBuckets  = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, 1}
)

// The values of labels.
var (
	messageKinds = []election.Kind{
		election.Election, election.OK, election.Coordinator, election.Request,
		election.StatusTable, election.Update, election.ElectMe, election.NewCoordinator,
		election.Elect, election.ElectNobody, election.Inquiry, election.Reply, election.View,
	}
	requestKinds = []lease.Kind{
		lease.PreVote, lease.Vote, lease.Renew, lease.StepDown, lease.Release, lease.Transfer,
		lease.TakeOver,
	}
	electionReasons = []string{
		string(election.Started), string(election.CoordinatorUnreachable),
		string(election.RosterChanged), string(election.TwoCoordinators),
		string(election.AnnouncementMissing), string(election.Withdrawn), string(election.Asked),
		noReason,
	}
)

// noReason is the reason of a process that found a leaseholder without an election of the
// algorithm.
const noReason = "None"

// The results of an election for a process that took part.
const (
	becameCoordinator = "Coordinator"
	becameFollower    = "Follower"
)

// NewMeter returns a meter of what the views, the ledger and the sources show.
func NewMeter(b *Views, ledger *Ledger, s Sources) *Meter {
	m := &Meter{
		registry: prometheus.NewRegistry(),
		up:       map[string]struct{}{},
		follows:  map[string]string{},
	}
	m.registerElections()
	m.registerLease()
	m.registerMessages()
	m.registry.MustRegister(
		newStateGauges(b, ledger, m),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "podesta_agent_links_dropped_messages_total",
			Help: "Messages that were dropped because a link was down or its queue was full.",
		}, func() float64 { return float64(s.Dropped()) }),
		logqueue.Counter("podesta_agent_log_dropped_lines_total"),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "podesta_agent_certificate_expiration_timestamp_seconds",
			Help: "When the certificate of this process expires, as Unix time; 0 while there is none.",
		}, func() float64 { return timestamp(s.NotAfter) }),
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

func (m *Meter) registerElections() {
	m.elections = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "podesta_agent_elections_total",
		Help: "Elections that ended with a coordinator for this process, by the group's algorithm, " +
			"by why this process took part, and by what it became.",
	}, []string{"algorithm", "reason", "result"})
	m.registry.MustRegister(m.elections)
	m.electionDuration = m.histogram("podesta_agent_election_duration_seconds", electionBuckets,
		"How long this process was without a coordinator, in each election.")
	m.electionTimeouts = m.counter("podesta_agent_election_timeouts_total",
		"Elections that ended without a coordinator: their announcement did not come in time, or "+
			"there was no candidate. The process called another.")
	m.changes = m.counter("podesta_agent_coordinator_changes_total",
		"How often this process began to follow another coordinator than before.")
	m.suspicions = m.counter("podesta_agent_suspicions_total",
		"How often the failure detector suspected the coordinator.")
}

func (m *Meter) registerLease() {
	m.renewal = m.histogram("podesta_agent_lease_renewal_duration_seconds", renewalBuckets,
		"From sending a renewal of the lease to the grant of one process.")
	m.lease = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "podesta_agent_lease_seconds",
		Help: "How long a lease this process asks for, between the two bounds of the roster; 0 while " +
			"it holds none.",
	})
	m.registry.MustRegister(m.lease)
	m.lapses = m.counter("podesta_agent_lease_lapses_total",
		"Leases of this process that ran out before they were renewed or given up.")
	m.delays = byLabel(m, "podesta_agent_lease_delays_total",
		"Delays that ended the lease of this process, or made it longer, by who was late.", "late",
		[]lease.Late{lease.LateAgent, lease.LateVoters, lease.LateApp})
	m.pauses = m.counter("podesta_agent_loop_pauses_total",
		"How often the agent stood still, or woke late, for more than half of its measured timeout.")
	m.paused = m.counter("podesta_agent_loop_paused_seconds_total",
		"For how long the agent stood still in these pauses.")
	m.writeFailures = m.counter("podesta_agent_state_write_failures_total",
		"Writes to the state directory that failed.")
}

func (m *Meter) registerMessages() {
	m.messagesSent = byLabel(m, "podesta_agent_messages_sent_total",
		"Messages of the election algorithm that this process sent.", "kind", messageKinds)
	m.messagesReceived = byLabel(m, "podesta_agent_messages_received_total",
		"Messages of the election algorithm that this process received.", "kind", messageKinds)
	m.requestsSent = byLabel(m, "podesta_agent_lease_requests_sent_total",
		"Requests of the lease protocol that this process sent.", "kind", requestKinds)
	m.responsesSent = byLabel(m, "podesta_agent_lease_responses_sent_total",
		"Responses to requests of the lease protocol that this process sent.", "granted",
		[]bool{true, false})
	m.questionsSent = m.counter("podesta_agent_questions_sent_total",
		"Questions of the failure detector that this process sent.")
	m.answersSent = m.counter("podesta_agent_answers_sent_total",
		"Answers to questions of failure detectors that this process sent.")
}

func (m *Meter) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

func (m *Meter) histogram(name string, buckets []float64, help string) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name:    name,
		Help:    help,
		Buckets: buckets,
	})
	m.registry.MustRegister(h)
	return h
}

// byLabel registers a family of counters with one label, and makes the counter of each value.
func byLabel[K comparable](m *Meter, name, help, label string, values []K) kinds[K] {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	m.registry.MustRegister(v)
	all := kinds[K]{}
	for _, value := range values {
		all[value] = v.WithLabelValues(fmt.Sprint(value))
	}
	return all
}

// elected counts an election that ended.
func (m *Meter) elected(algorithm string, last *node.Account, coordinates bool) {
	reason, result := string(last.Reason), becameFollower
	if reason == "" {
		reason = noReason
	}
	if coordinates {
		result = becameCoordinator
	}
	m.elections.WithLabelValues(algorithm, reason, result).Inc()
	m.electionDuration.Observe(last.Duration.Seconds())
}

// runs makes the series of a group's algorithm, with 0.
func (m *Meter) runs(algorithm string) {
	for _, reason := range electionReasons {
		m.elections.WithLabelValues(algorithm, reason, becameCoordinator)
		m.elections.WithLabelValues(algorithm, reason, becameFollower)
	}
}

// published counts what a new view changes.
func (m *Meter) published(v View) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v.Coordinator != "" && v.Coordinator != m.coordinator {
		m.coordinator = v.Coordinator
		m.changes.Inc()
	}
	on := map[string]bool{}
	for _, p := range v.Processes {
		on[p.Name] = true
	}
	maps.DeleteFunc(m.follows, func(name, _ string) bool { return !on[name] })
}

// linked notes whether our link to a process is open.
func (m *Meter) linked(name string, up bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if up {
		m.up[name] = struct{}{}
		return
	}
	delete(m.up, name)
	delete(m.follows, name)
}

// answered notes whom a process follows; empty: nobody.
func (m *Meter) answered(name, coordinator string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if coordinator == "" {
		delete(m.follows, name)
		return
	}
	m.follows[name] = coordinator
}

// others returns how many links are open, and how many processes follow another coordinator.
func (m *Meter) others(coordinator string) (open, disagreeing int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range m.follows {
		if coordinator != "" && name != coordinator {
			disagreeing++
		}
	}
	return len(m.up), disagreeing
}

// Write writes all metrics in Prometheus' text format, those of the Go runtime and the process too.
// The error is why they cannot be gathered, or w's.
func (m *Meter) Write(w io.Writer) error {
	families, err := m.registry.Gather()
	if err != nil {
		return fmt.Errorf("gather the metrics: %w", err)
	}
	encoder := expfmt.NewEncoder(w, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return err
		}
	}
	return nil
}

// timestamp is when something is, as Unix time; 0: never.
func timestamp(at func() time.Time) float64 {
	if at == nil || at().IsZero() {
		return 0
	}
	return float64(at().Unix())
}
