package display

import (
	"cmp"
	"math"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/timing"
)

// subject is a group as its spec and status describe it, in the words of this package.
type subject struct {
	group       *v1.ElectionGroup
	safety      v1.Safety
	coordinator *Coordinator
	voters      *Voters
	timing      Timing
	preemption  *Preemption
	processes   []Process // in the order of rank
}

func newSubject(g *v1.ElectionGroup, now time.Time) subject {
	s := subject{
		group:  g,
		safety: g.Spec.Safety,
	}
	if s.safety == "" {
		s.safety = v1.Guarded
	}
	s.timing = timingOf(g.Spec.Timing, len(g.Status.Processes), s.guarded())
	if s.guarded() {
		s.preemption = preemptionOf(g.Spec.Preemption)
	}
	s.coordinator = coordinatorOf(g.Status.Coordinator, s.guarded(), now)
	s.processes = s.rows(now)
	if s.guarded() {
		s.voters = votersOf(s.processes)
		s.voters.Outdated = g.Status.SetBack != nil
	}
	return s
}

func (s *subject) guarded() bool { return s.safety != v1.Classic }

// coordinatorName is empty while nobody coordinates.
func (s *subject) coordinatorName() string {
	if s.coordinator == nil {
		return ""
	}
	return s.coordinator.Name
}

// timingOf is what spec.timing comes to. The shortest lease is that of a group of this size.
func timingOf(t v1.Timing, processes int, guarded bool) Timing {
	profile, ok := timing.Of(string(t.Profile))
	if !ok { // of a newer release
		profile, _ = timing.Of(timing.Default)
	}
	is, _ := profile.With(timing.Timing{
		Heartbeat:    asDuration(t.HeartbeatMilliseconds),
		Timeout:      asDuration(t.TimeoutMilliseconds),
		Lease:        asDuration(t.LeaseMaximumMilliseconds),
		LeaseMinimum: asDuration(t.LeaseMinimumMilliseconds),
	}, guarded)
	least := lease.Shortest(processes, is.Heartbeat, is.LeaseMinimum, is.Lease)
	return Timing{
		Heartbeat:    milliseconds(is.Heartbeat),
		Timeout:      milliseconds(is.Timeout),
		Lease:        milliseconds(is.Lease),
		LeaseMinimum: milliseconds(least),
	}
}

//nolint:gosec // of an int32, or of a profile
func milliseconds(d time.Duration) int32 { return int32(d.Milliseconds()) }

func asDuration(n int32) time.Duration { return time.Duration(n) * time.Millisecond }

func preemptionOf(p *v1.Preemption) *Preemption {
	policy, stable := v1.Delayed, int32(5)
	if p != nil {
		policy, stable = cmp.Or(p.Policy, policy), ptr.Deref(p.StableSeconds, stable)
	}
	if policy != v1.Delayed {
		stable = 0
	}
	return &Preemption{Policy: word(string(policy)), StableSeconds: stable}
}

func coordinatorOf(c *v1.CoordinatorStatus, guarded bool, now time.Time) *Coordinator {
	if c == nil || c.Name == "" {
		return nil
	}
	shown := &Coordinator{Name: name(c.Name), Priority: ptr.Deref(c.Priority, 0)}
	if guarded {
		shown.Epoch = epoch(c.Epoch)
	}
	if !c.Since.IsZero() {
		shown.Since, shown.Seconds = new(c.Since.UTC()), seconds(now, c.Since.Time)
	}
	return shown
}

// rows returns the process status table in the order of rank.
func (s *subject) rows(now time.Time) []Process {
	members := map[string]*v1.RosterMember{}
	if r := s.group.Status.Roster; r != nil {
		for i := range r.Members {
			members[r.Members[i].Name] = &r.Members[i]
		}
	}
	request := stepDownOf(s.group)
	table := s.group.Status.Processes
	all := make([]Process, 0, len(table))
	for i := range table {
		row := &table[i]
		follows, under := s.group.Status.Followed(row)
		member := members[row.Name]
		p := Process{
			Name:      name(row.Name),
			Priority:  ptr.Deref(row.Priority, 0),
			State:     word(string(row.State)),
			Connected: ptr.Deref(row.Connected, false),
			Follows:   name(follows),
			Agent:     word(string(row.Agent)),
			Version:   word(row.AgentVersion),
		}
		if s.guarded() {
			p.Epoch = epoch(under)
		}
		p.Agrees = p.Connected && p.Follows != "" && p.Follows == s.coordinatorName()
		p.Standing = s.standing(row, member)
		p.raised = request != nil && request.To == p.Name && p.Priority > 0
		if member != nil {
			p.addMember(member, s.guarded(), now)
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b Process) int {
		return cmp.Or(cmp.Compare(b.rank(), a.rank()), cmp.Compare(b.Name, a.Name))
	})
	return all
}

// rank is the priority that counts.
func (p *Process) rank() int64 {
	if p.raised {
		return math.MaxInt64
	}
	return int64(p.Priority)
}

// addMember adds what the roster says of a process.
func (p *Process) addMember(m *v1.RosterMember, guarded bool, now time.Time) {
	p.UID, p.StateID, p.Witness = word(string(m.UID)), word(m.StateID), isWitness(m)
	if !guarded { // in a Classic group nobody votes
		return
	}
	p.Voter = ptr.Deref(m.Voter, false)
	p.Forgotten = ptr.Deref(m.Forgotten, false)
	if !m.GoneSince.IsZero() {
		p.GoneSeconds = max(seconds(now, m.GoneSince.Time), 1)
	}
}

// Outranks reports whether a process ranks above the coordinator, so that it would depose it: by
// priority, or because a request to step down has it so. In a Classic group the name decides
// between equals. In a Guarded group, which has a policy of preemption, equals do not depose each
// other.
func (p *Process) Outranks(c *Coordinator, preemption *Preemption) bool {
	return p.rank() > int64(c.Priority) ||
		preemption == nil && p.Priority == c.Priority && p.Name > c.Name
}

func sortByName(all []Process) {
	slices.SortFunc(all, func(a, b Process) int { return cmp.Compare(a.Name, b.Name) })
}

// viewsOf groups the connected processes by whom they follow. They disagree if they name several
// coordinators.
func viewsOf(all []Process) (views []View, disagree bool) {
	index, named := map[string]int{}, 0
	for _, p := range all {
		if !p.Connected {
			continue
		}
		i, known := index[p.Follows]
		if !known {
			i = len(views)
			index[p.Follows] = i
			views = append(views, View{Coordinator: p.Follows})
			if p.Follows != "" {
				named++
			}
		}
		views[i].Processes = append(views[i].Processes, p.Name)
	}
	slices.SortStableFunc(views, func(a, b View) int {
		return cmp.Or(cmp.Compare(len(b.Processes), len(a.Processes)),
			cmp.Compare(b.Coordinator, a.Coordinator))
	})
	return views, named > 1
}

// epoch returns an epoch as people read it; empty for 0, which is no epoch.
func epoch(e int64) string {
	if e <= 0 {
		return ""
	}
	return lease.Epoch(e).String()
}

// seconds returns how many seconds ago something was; 0 if it is yet to come, as clocks may differ.
func seconds(now, then time.Time) int64 { return max(int64(now.Sub(then)/time.Second), 0) }
