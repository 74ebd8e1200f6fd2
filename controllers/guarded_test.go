package controllers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/lease"
	"github.com/podesta-dev/podesta/internal/roster"
)

// newGuarded is a Guarded group whose pods have not joined yet.
func newGuarded(pods int) *scene {
	s := newScene(pods)
	s.group.Spec.Safety, s.group.Spec.Timing.LeaseMilliseconds = v1.Guarded, 1000
	s.endings = map[types.UID]time.Time{}
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

// pass is a pass of the manager over the roster.
func (s *scene) pass() rosterDecision {
	s.ledger = s.ledger.advance(s.observation)
	d := decideRoster(s.observation)
	if d.record != nil {
		s.observation.published.Roster = d.record
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
func (s *scene) voters() string { return namesOf(votersIn(s.observation.published.Roster)) }

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
	s.endings["uid-2"] = s.now
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

func TestScale(t *testing.T) {
	s := voting(3)
	for i := 3; i < 7; i++ {
		s.pods = append(s.pods, newGuarded(7).pods[i])
		s.sees("", i)
	}
	var all []string
	settle := func() {
		for range 20 {
			s.acknowledge()
			was := s.voters()
			d := s.pass()
			if s.voters() != was {
				all = append(all, s.voters())
			}
			s.later(max(d.again, time.Millisecond))
		}
	}
	settle()
	for i := 3; i < 7; i++ { // and down again
		s.endings[s.pods[i].UID] = s.now
		delete(s.sightings, s.pods[i].UID)
	}
	s.pods = s.pods[:3]
	settle()
	want := "p-0 p-1 p-2 p-3, p-0 p-1 p-2 p-3 p-4, p-0 p-1 p-2 p-3 p-4 p-5, p-0 p-1 p-2 p-3 p-4 p-5 p-6, p-0 p-1 p-2"
	if got := strings.Join(all, ", "); got != want {
		t.Errorf("voters went\n%s, want\n%s", got, want)
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
	s.endings["uid-2"], s.pods = s.now, s.pods[:2]
	s.loses(1, 0) // it does not hear of the edit
	s.acknowledge()
	s.later(9 * time.Second)
	if s.pass(); s.voters() != "p-0 p-1 p-2" {
		t.Fatalf("nine seconds after it has ended p-2 is removed: voters %q", s.voters())
	}
	s.later(lease.Outlast(milliseconds(10_000)))
	if s.pass(); s.voters() != "p-0 p-1" || longest() != 10_000 {
		t.Fatalf("voters %q, the longest lease %d ms; want p-2 removed, and the lease that p-1 may have promised", s.voters(), longest())
	}
	s.sees("", 1)
	s.acknowledge()
	if d := s.pass(); d.again != lease.Outlast(milliseconds(10_000)) {
		t.Fatalf("all use the new lease: again in %v", d.again)
	}
	s.later(lease.Outlast(milliseconds(10_000)))
	generation := s.observation.published.Roster.Generation
	if s.pass(); longest() != 500 || s.observation.published.Roster.Generation != generation {
		t.Errorf("the longest lease is %d ms, generation %d after %d: want 500 without a new roster", longest(),
			s.observation.published.Roster.Generation, generation)
	}
}

// A member whose memory changes with every report makes one step after a lease, not a roster with every report.
func TestAlternatingMemory(t *testing.T) {
	s := voting(3)
	rosters := 0
	for i := range 100 {
		s.later(10 * time.Millisecond)
		s.edit(2, func(r *roster.Report) { r.StateID = fmt.Sprintf("m%d", i%2) })
		s.acknowledge()
		if d := s.pass(); d.record != nil {
			rosters++
		}
	}
	if rosters != 0 {
		t.Errorf("%d rosters within a second", rosters)
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

// A group grows to more pods than a roster holds, counting voters whose pods are gone: they keep their place.
func TestVotersKeepTheirPlace(t *testing.T) {
	s := voting(3)
	s.loses(2, 0)
	s.pods = append(s.pods[:2], newGuarded(257).pods[3:]...)
	d := s.pass()
	if len(d.record.Members) != v1.MaxProcesses || s.voters() != "p-0 p-1" {
		t.Fatalf("%d members, voters %q", len(d.record.Members), s.voters())
	}
}

func TestPreemptionAndLeaseAreTold(t *testing.T) {
	s := newGuarded(1)
	if r := s.pass().roster; r.Lease != time.Second || r.Preemption != roster.Delayed || r.Stable != 5*time.Second || r.Validate() != nil {
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

// A voter that says that it leaves is let go while it still answers: so nobody has to wait for its lease.
func TestVoterThatLeavesIsLetGo(t *testing.T) {
	s := voting(3)
	s.edit(2, func(r *roster.Report) { r.Leaving = true })
	if d := s.pass(); s.voters() != "p-0 p-1" || len(d.lost) > 0 {
		t.Errorf("voters %q, lost %v", s.voters(), d.lost)
	}
	s = voting(2)
	s.edit(0, func(r *roster.Report) { r.Leaving = true })
	s.edit(1, func(r *roster.Report) { r.Leaving = true })
	if d := s.pass(); s.voters() != "p-0 p-1" || len(d.lost) > 0 {
		t.Errorf("both leave: voters %q, lost %v", s.voters(), d.lost)
	}
}

// A process that has just joined votes a lease later.
func TestNewcomerVotesAfterALease(t *testing.T) {
	s := voting(3)
	s.pods = append(s.pods, newGuarded(4).pods[3])
	s.sees("", 3)
	seen := s.sightings["uid-3"]
	seen.Since = s.now
	s.sightings["uid-3"] = seen
	if d := s.pass(); s.voters() != "p-0 p-1 p-2" || d.again != lease.Outlast(milliseconds(1000)) || d.pending != 1 {
		t.Errorf("voters %q, again in %v, %d pending", s.voters(), d.again, d.pending)
	}
	s.later(lease.Outlast(milliseconds(1000)))
	if s.pass(); s.voters() != "p-0 p-1 p-2 p-3" {
		t.Errorf("a lease later: voters %q", s.voters())
	}
}

// N3: when a nominee says that the ballots of the newest generation are used up, there is another generation; one for each that is.
func TestSpentBallotsMakeAGeneration(t *testing.T) {
	spent := func(s *scene, pod int) {
		s.edit(pod, func(r *roster.Report) { r.LeaseState = roster.LeaseBallotsSpent })
	}
	for _, test := range []struct {
		name string
		what func(*scene)
		next bool
	}{
		{"nobody says so", func(*scene) {}, false},
		{"one says so", func(s *scene) { spent(s, 2) }, true},
		{"one said so, and is out of sight", func(s *scene) { spent(s, 2); s.loses(2, 0) }, false},
		{"of an older generation", func(s *scene) {
			spent(s, 2)
			s.edit(2, func(r *roster.Report) { r.Generation-- })
		}, false},
		{"one that is not on the roster", func(s *scene) {
			spent(s, 2)
			s.sightings["uid-9"] = s.sightings["uid-2"]
			s.sees("", 2).acknowledge()
		}, false},
		{"one that never coordinates", func(s *scene) {
			s.group.Spec.Processes = []v1.Process{{Name: "p-2", Priority: new(int32(0))}}
			s.pass()
			s.acknowledge()
			s.later(time.Minute)
			spent(s, 2)
		}, false},
		{"one says so of a generation that is new", func(s *scene) {
			s.observation.published.Roster.Generation = int64(s.now.Sub(generationEpoch) / time.Second)
			s.acknowledge()
			spent(s, 2)
		}, false},
		{"while a majority follows somebody", func(s *scene) { s.holding("p-1", 7, 0, 1); spent(s, 2) }, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := voting(3)
			test.what(s)
			was := *s.observation.published.Roster
			d := s.pass()
			if (d.record != nil) != test.next || test.next && (d.roster.Generation <= was.Generation || d.record.Digest != was.Digest) {
				t.Fatalf("recorded %+v after %+v", d.record, was)
			}
			if d = s.pass(); d.record != nil {
				t.Errorf("the agents still use the old one: recorded %+v", d.record)
			}
		})
	}
	classic := newScene(3).sees("p-2", 0, 1, 2).published()
	spent(classic, 2)
	if d := decideRoster(classic.observation); d.record != nil {
		t.Errorf("a Classic group has no ballots: recorded %+v", d.record)
	}
}

// A manager that knows that a voter's certificates have ended knows it still after a restart.
func TestGoneSinceOutlastsTheManager(t *testing.T) {
	s := voting(3)
	s.loses(1, 0).loses(2, 0)
	s.pods = s.pods[:2]
	member(s, "p-2").GoneSince = metav1.NewTime(s.now.Add(-certificatesEnd - time.Second).Truncate(time.Second))
	was := member(s, "p-2").GoneSince
	s.pass()
	if s.pass(); s.ledger.ended["uid-2/m"].at.IsZero() || !member(s, "p-2").GoneSince.Equal(&was) {
		t.Fatalf("known to have ended: %v, gone since %v", s.ledger.ended, member(s, "p-2").GoneSince)
	}
	s.ledger = ledger{}
	if s.pass(); s.ledger.ended["uid-2/m"].at.IsZero() {
		t.Error("after a restart nothing is known of its end")
	}
}

// Agents that left have ended for certain in a moment: the group is looked at when they have, also where the majority that
// acknowledges the last step waits for it.
func TestEndsToComeAreLookedAt(t *testing.T) {
	leave := func(s *scene, pod int) {
		s.pods[pod].DeletionTimestamp, s.pods[pod].DeletionGracePeriodSeconds = &metav1.Time{Time: s.now}, new(int64(0))
		s.edit(pod, func(r *roster.Report) { r.Leaving = true })
		s.loses(pod, 0)
	}
	s := voting(3)
	leave(s, 1)
	leave(s, 2)
	s.ledger.acked, s.ledger.generation = time.Time{}, s.observation.published.Roster.Generation+1
	s.observation.published.Roster.Generation++
	if d := s.pass(); d.again != leavesWithin {
		t.Fatalf("two have left: again in %v", d.again)
	}
	s.later(leavesWithin)
	if s.pass(); !s.ledger.acked.Equal(s.now) {
		t.Errorf("they have ended: acknowledged since %v", s.ledger.acked)
	}
	if d := s.pass(); d.again != lease.Outlast(milliseconds(1000)) {
		t.Errorf("they have ended: again in %v", d.again)
	}
}
