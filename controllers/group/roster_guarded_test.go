package group

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// newGuarded is a Guarded group whose pods have not joined yet.
func newGuarded(pods int) *scene {
	s := newScene(pods)
	s.group.Spec.Safety, s.group.Spec.Timing.LeaseMilliseconds = v1.Guarded, 1000
	for _, pod := range s.pods {
		pod.Spec.Containers = []corev1.Container{{Name: "app"}}
	}
	return s
}

// voting is a Guarded group of voters that all use the newest roster, since long.
func voting(pods int) *scene {
	s := newGuarded(pods)
	for i := range pods {
		s.sees("", i)
	}
	s.pass()
	s.acknowledge()
	s.pass()
	s.acknowledge()
	s.later(time.Minute)
	s.pass()
	return s
}

// pass is a pass of the manager over the roster, which it succeeds in persisting.
func (s *scene) pass() rosterDecision {
	d := decideRoster(s.observation)
	s.membership = d.state
	if d.record != nil {
		s.observation.published.Roster = d.record
		s.membership = s.membership.Persisted(d.persist)
	}
	return d
}

func (s *scene) later(d time.Duration) { s.now = s.now.Add(d) }

// acknowledge has all agents that are connected use the newest roster.
func (s *scene) acknowledge() {
	for uid, seen := range s.sightings {
		if seen.Connected {
			seen.Report.Generation = s.observation.published.Roster.Generation
			s.sightings[uid] = seen
		}
	}
}

// voters are the names of the voters on the persisted roster.
func (s *scene) voters() string {
	var names []string
	for _, m := range votersIn(s.observation.published.Roster) {
		names = append(names, m.Name)
	}
	return strings.Join(names, " ")
}

// terminated has the kubelet report that a pod's containers have ended, for good.
func (s *scene) terminated(pod int) {
	s.pods[pod].Status.Phase, s.pods[pod].Status.Conditions = corev1.PodFailed, overConditions
	s.pods[pod].Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
}

func member(s *scene, name string) *v1.RosterMember {
	for i := range s.observation.published.Roster.Members {
		if s.observation.published.Roster.Members[i].Name == name {
			return &s.observation.published.Roster.Members[i]
		}
	}
	panic("no member " + name)
}

// A pod is replaced under its old name: the voter is removed, then its successor is added.
func TestReplacedPod(t *testing.T) {
	s := voting(3)
	s.ended["uid-2"] = s.now
	s.pods[2] = s.pods[2].DeepCopy()
	s.pods[2].UID = "uid-2b"
	s.sees("", 2)
	delete(s.sightings, "uid-2")
	d := s.pass()
	if got := member(s, "p-2"); got.UID != "uid-2b" || isVoter(*got) || s.voters() != "p-0 p-1" {
		t.Fatalf("the old one is gone: %+v, voters %q", got, s.voters())
	}
	if p, _ := d.roster.Find("p-2"); p.UID != "uid-2b" || p.Voter || p.StateID != "" {
		t.Errorf("agents are told of %+v", p)
	}
	s.pass()
	s.acknowledge()
	if d = s.pass(); s.voters() != "p-0 p-1" || d.again != lease.Outlast(milliseconds(2000)) {
		t.Fatalf("acknowledged: voters %q, again in %v", s.voters(), d.again)
	}
	s.later(lease.Outlast(milliseconds(2000)))
	d = s.pass()
	if p, _ := d.roster.Find("p-2"); s.voters() != "p-0 p-1 p-2" || !p.Voter || p.StateID != "m" {
		t.Errorf("two leases later: voters %q, agents are told of %+v", s.voters(), p)
	}
}

// An edit makes the lease shorter. Who has promised under the longer one is waited for.
func TestShortenedLeaseIsWaitedFor(t *testing.T) {
	s := voting(3)
	s.group.Spec.Timing.LeaseMilliseconds = 10_000
	s.pass()
	s.acknowledge()
	s.later(time.Minute)
	s.pass()
	s.group.Spec.Timing.LeaseMilliseconds = 500
	d := s.pass()
	longest := func() int32 { return s.observation.published.Roster.LongestLeaseMilliseconds }
	if d.roster.Lease != 500*time.Millisecond || longest() != 10_000 {
		t.Fatalf("agents are told %v, recorded as the longest is %d ms", d.roster.Lease, longest())
	}
	s.ended["uid-2"], s.pods = s.now, s.pods[:2]
	s.loses(1, 0) // it does not hear of the edit
	s.acknowledge()
	s.later(9 * time.Second)
	if s.pass(); s.voters() != "p-0 p-1 p-2" {
		t.Fatalf("nine seconds after it has ended p-2 is removed: voters %q", s.voters())
	}
	s.later(lease.Outlast(milliseconds(10_000)))
	if s.pass(); s.voters() != "p-0 p-1" || longest() != 10_000 {
		t.Fatalf(
			"voters %q, the longest lease %d ms; want p-2 removed, and the lease that p-1 may have promised",
			s.voters(),
			longest(),
		)
	}
	s.sees("", 1)
	s.acknowledge()
	if d := s.pass(); d.again != lease.Outlast(milliseconds(10_000)) {
		t.Fatalf("all use the new lease: again in %v", d.again)
	}
	s.later(lease.Outlast(milliseconds(10_000)))
	generation := s.observation.published.Roster.Generation
	if s.pass(); longest() != 500 || s.observation.published.Roster.Generation != generation {
		t.Errorf(
			"the longest lease is %d ms, generation %d after %d: want 500 without a new roster",
			longest(), s.observation.published.Roster.Generation, generation)
	}
}

// A pod that is gone is taken down with the time, without a new roster for the agents.
func TestGonePodIsTakenDown(t *testing.T) {
	s := voting(3)
	s.loses(1, 0).loses(2, 0)
	s.pods = s.pods[:2]
	s.later(1500 * time.Millisecond)
	s.pass()
	m := member(s, "p-2")
	if !isVoter(*m) || !m.GoneSince.Time.Equal(s.now.Truncate(time.Second)) {
		t.Errorf("recorded %+v", m)
	}
	s.later(time.Hour)
	was := m.GoneSince
	if s.pass(); !member(s, "p-2").GoneSince.Equal(&was) {
		t.Errorf("an hour later: gone since %v, was %v", member(s, "p-2").GoneSince, was)
	}
}

func TestPreemptionAndLeaseAreTold(t *testing.T) {
	s := newGuarded(1)
	if r := s.pass().roster; r.Lease != time.Second || r.Preemption != roster.Delayed ||
		r.Stable != 5*time.Second ||
		r.Validate() != nil {
		t.Errorf("told %+v (%v)", r, r.Validate())
	}
	s.group.Spec.Preemption = &v1.Preemption{Policy: v1.Never, StableSeconds: new(int32(0))}
	if r := s.pass().roster; r.Preemption != roster.Never || r.Stable != 0 {
		t.Errorf("told %+v", r)
	}
	classic := newScene(1)
	if r := decideRoster(classic.observation).roster; r.Lease != 0 || r.Preemption != "" {
		t.Errorf("a Classic group is told %+v", r)
	}
}

// What a candidate reports makes another generation, as the rules have it (internal/membership).
func TestSpentBallotsMakeAGeneration(t *testing.T) {
	s := voting(3)
	s.edit(2, func(r *roster.Report) { r.LeaseState = roster.LeaseBallotsSpent })
	was := *s.observation.published.Roster
	if d := s.pass(); d.record == nil || d.roster.Generation <= was.Generation ||
		d.record.Digest != was.Digest {
		t.Errorf("recorded %+v after %+v", d.record, was)
	}
	s.acknowledge()
	s.later(time.Minute)
	if s.holding("p-1", 7, 0, 1); s.pass().record != nil {
		t.Error("another one though a majority follows somebody")
	}
}

// The shortest lease is a heartbeat unless the spec names another; agents are told which.
func TestShortestLease(t *testing.T) {
	for _, c := range []struct {
		timing v1.Timing
		want   time.Duration
	}{
		{v1.Timing{HeartbeatMilliseconds: 100, LeaseMilliseconds: 1000}, 100 * time.Millisecond},
		{v1.Timing{HeartbeatMilliseconds: 10, LeaseMilliseconds: 1000}, 40 * time.Millisecond},
		{v1.Timing{HeartbeatMilliseconds: 250, LeaseMilliseconds: 1000}, 250 * time.Millisecond},
		{v1.Timing{HeartbeatMilliseconds: 100, LeaseMilliseconds: 1000, LeaseMinimumMilliseconds: 1000}, time.Second},
	} {
		group := &v1.ElectionGroup{Spec: v1.ElectionGroupSpec{Safety: v1.Guarded, Timing: c.timing}}
		if got := settingsOf(group).LeaseMinimum; got != c.want {
			t.Errorf("%+v: the shortest lease is %v, not %v", c.timing, got, c.want)
		}
		if group.Spec.Safety = v1.Classic; settingsOf(group).LeaseMinimum != 0 {
			t.Errorf("%+v: a Classic group has a shortest lease", c.timing)
		}
	}
}
