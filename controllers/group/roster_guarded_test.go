package group

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/membership"
	"github.com/podesta-dev/podesta/internal/roster"
)

// newGuarded is a Guarded group whose pods have not joined yet.
func newGuarded(pods int) *scene {
	s := newScene(pods)
	s.group.Spec.Safety, s.group.Spec.Timing.LeaseMaximumMilliseconds = v1.Guarded, 1000
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

func TestPreemptionAndLeaseAreTold(t *testing.T) {
	s := newGuarded(1)
	if r := s.pass().roster; r.Lease != time.Second || r.Preemption != roster.Delayed ||
		r.Stable != 5*time.Second ||
		r.Validate() != nil {
		t.Errorf("told %+v (%v)", r, r.Validate())
	}
	s.group.Spec.Preemption = &v1.Preemption{Policy: v1.Never}
	if r := s.pass().roster; r.Preemption != roster.Never || r.Stable != 0 {
		t.Errorf("told %+v", r)
	}
	classic := newScene(1)
	if r := decideRoster(classic.observation).roster; r.Lease != 0 || r.Preemption != "" {
		t.Errorf("a Classic group is told %+v", r)
	}
}

// The status shows which preemption applies, with the defaults that the spec does not show.
func TestPreemptionIsShown(t *testing.T) {
	delayed := func(seconds int32) *v1.Preemption {
		return &v1.Preemption{Policy: v1.Delayed, StableSeconds: &seconds}
	}
	for _, c := range []struct {
		safety      v1.Safety
		given, want *v1.Preemption
	}{
		{v1.Guarded, nil, delayed(5)},
		{v1.Guarded, &v1.Preemption{Policy: v1.Delayed}, delayed(5)},
		{v1.Guarded, delayed(0), delayed(0)},
		{v1.Guarded, &v1.Preemption{Policy: v1.Always}, &v1.Preemption{Policy: v1.Always}},
		{v1.Classic, nil, nil},
	} {
		s := newGuarded(1)
		s.group.Spec.Safety, s.group.Spec.Preemption = c.safety, c.given
		got := decideStatus(s.observation, rosterDecision{}).status.Preemption
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s, given %+v (-want +got):\n%s", c.safety, c.given, diff)
		}
	}
}

// A group that is edited all the time gets a roster a second (MC1). Meanwhile its status says that
// another one is due, and it is looked at again when it is.
func TestARosterWaits(t *testing.T) {
	s := voting(3).at(roster.LeaseFollowing, 1)
	for i := range int32(100) {
		s.group.Spec.Timing.HeartbeatMilliseconds = 100 + i
		s.pass()
		s.acknowledge()
	}
	d := decide(s.observation)
	if d.roster.record != nil || d.again <= 0 || d.again > time.Second {
		t.Fatalf("after 100 edits at once: roster %+v, again in %v", d.roster.record, d.again)
	}
	if got := conditionsIn(*d.status); !strings.Contains(got, "Reconciling=True/RosterWaiting") {
		t.Error(got)
	}
	s.later(d.again)
	if d := s.pass(); d.record == nil {
		t.Errorf("%+v", d)
	}
}

// A fact or a field of a roster that somebody adds is told to the rules of voters, or persisted, or
// this fails.
func TestNothingIsForgotten(t *testing.T) {
	s := voting(1)
	s.terminated(0)
	s.agrees, s.date, s.rules, s.after, s.begun, s.inherited = true, noon, 2, 7, noon, true
	s.held = &roster.Roster{Generation: 1, Safety: roster.Guarded}
	s.group.Spec.Processes = []v1.Process{{Name: "p-0"}}
	facts := reflect.ValueOf(*factsOf(s.observation))
	asked := []string{"Forget", "Adopt", "StepDown", "Coordinator"} // see decideRoster
	for field, value := range facts.Fields() {
		if value.IsZero() != slices.Contains(asked, field.Name) {
			t.Errorf("%s is %v", field.Name, value)
		}
	}
	r := &membership.Roster{
		Generation:   9,
		Digest:       "digest",
		LongestLease: time.Second,
		Rules:        2,
		Members: []membership.Member{{
			Name:      "p-0",
			UID:       "uid-0",
			StateID:   "m",
			Voter:     true,
			GoneSince: noon,
			Forgotten: true,
			Replaced:  true,
			Witness:   true,
			Label:     "zone=a",
		}},
		StepDown: &membership.StepDown{
			ID:      "a",
			Process: "p-0",
			To:      "p-1",
			Until:   noon,
			Outcome: membership.Standing,
		},
	}
	for field, value := range reflect.ValueOf(*r).Fields() {
		if value.IsZero() {
			t.Errorf("this test says nothing of %s", field.Name)
		}
	}
	told := []string{"Address", "Priority", "Departing", "Grace", "Created"} // and not persisted
	for field, value := range reflect.ValueOf(r.Members[0]).Fields() {
		if value.IsZero() != slices.Contains(told, field.Name) {
			t.Errorf("this test says nothing of %s", field.Name)
		}
	}
	if got := rosterFrom(recordOf(r)); !reflect.DeepEqual(got, r) {
		t.Errorf("persisted %+v, read %+v", r, got)
	}
}

// Agents that wait are told why no further process can become a voter. Only a majority that is lost
// makes them count as ready: an operator has to end the others, or has fewer pods run.
func TestWhatHoldsUpVoters(t *testing.T) {
	for _, c := range []struct {
		name    string
		decided membership.Decision
		stalled string
		want    string
		ready   bool
	}{
		{"nothing", membership.Decision{Pending: 3}, "", "", false},
		{"too many pods", membership.Decision{}, "101 pods carry the label", "101 pods carry the label", false},
		{"a status that was set back", membership.Decision{SetBack: 9}, "", "set back", false},
		{"an old manager", membership.Decision{Unsupported: 3}, "", "upgrade the manager", false},
		{"voters that are not reached", membership.Decision{Unreached: []string{"p-1", "p-2"}}, "", "p-1, p-2", true},
	} {
		h := holdOf(c.decided, c.stalled)
		if h.Ready != c.ready || !strings.Contains(h.Reason, c.want) || (h.Reason == "") != (c.want == "") {
			t.Errorf("%s: %+v", c.name, h)
		}
	}
}
