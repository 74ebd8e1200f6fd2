package group

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/podesta-dev/podesta/api/v1"
	"github.com/podesta-dev/podesta/internal/roster"
)

// hinders has the agents of these pods report why their processes are no candidates.
func (s *scene) hinders(why string, pods ...int) *scene {
	for _, i := range pods {
		s.edit(i, func(r *roster.Report) { r.NotCandidate = why })
	}
	return s
}

// candidacies are the table's rows, each with why its process is no candidate, and whether it is
// connected.
func candidacies(s *scene) string {
	var rows []string
	for _, r := range decideStatus(s.observation, rosterDecision{}).status.Processes {
		rows = append(rows, fmt.Sprintf("%s:%t:%s", r.Name, *r.Connected, r.NotCandidate))
	}
	return strings.Join(rows, " ")
}

func TestWhyAProcessIsNoCandidate(t *testing.T) {
	well := func() *scene { return newScene(2).sees("p-1", 0, 1) }
	electing := func() *scene { return voting(2).at(roster.LeaseElecting, 0, 1) }
	resting := func() *scene { return electing().hinders(roster.NotCandidateResting, 1).shown() }
	for _, test := range []struct {
		name  string
		scene *scene
		want  string
	}{
		{"all are", well(), "p-0:true: p-1:true:"},
		{"one is not", well().hinders(roster.NotCandidateUnhealthy, 0), "p-0:true:Unhealthy p-1:true:"},
		{"a reason of a newer agent", well().hinders("Asleep", 0), "p-0:true: p-1:true:"},
		{"nobody has joined", newScene(1), "p-0:false:"},
		{"its connection broke just now", well().hinders(roster.NotCandidateUnhealthy, 0).published().
			loses(0, 100*time.Millisecond), "p-0:true:Unhealthy p-1:true:"},
		{"its connection is gone", well().hinders(roster.NotCandidateUnhealthy, 0).published().
			loses(0, 2*time.Second), "p-0:false: p-1:true:"},
		{"it has ended", func() *scene {
			s := well().hinders(roster.NotCandidateLeaving, 0)
			s.edit(0, func(r *roster.Report) { r.Leaving = true })
			return s.published().loses(0, 0)
		}(), "p-0:false: p-1:true:"},
		{"its pod is being deleted", func() *scene {
			s := well().hinders(roster.NotCandidatePriorityZero, 0)
			s.pods[0].DeletionTimestamp = &metav1.Time{Time: s.now}
			return s
		}(), "p-0:true:Leaving p-1:true:"},
		{"it rests, and another one coordinates",
			well().hinders(roster.NotCandidateResting, 0), "p-0:true: p-1:true:"},
		{"it rests, and nobody coordinates", resting(), "p-0:true: p-1:true:Resting"},
		{"it tries between two rests", resting().at(roster.LeaseNoMajority, 1),
			"p-0:true: p-1:true:Resting"},
		{"it has rested, and reaches a majority", resting().at(roster.LeaseElecting, 1),
			"p-0:true: p-1:true:"},
		{"it reaches no majority, and did not rest", electing().shown().at(roster.LeaseNoMajority, 1),
			"p-0:true: p-1:true:"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := candidacies(test.scene); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// A process that reaches no majority rests again and again. Nothing is written because of that.
func TestRestsDoNotChangeTheStatus(t *testing.T) {
	s := voting(3).at(roster.LeaseNoMajority, 0, 1, 2).hinders(roster.NotCandidateResting, 1, 2).shown()
	before := s.observation.published
	for i := range 10 {
		why := []string{roster.NotCandidateResting, ""}[i%2]
		if s.hinders(why, 1, 2).shown(); changed(s.observation.published, before) {
			t.Fatalf("report %d: the status is %+v, and was %+v", i, s.observation.published, before)
		}
	}
}

func TestNoCandidate(t *testing.T) {
	const (
		unhealthy, closed = roster.NotCandidateUnhealthy, roster.NotCandidateNoSession
		resting, alone    = roster.NotCandidateResting, roster.LeaseNoMajority
	)
	classic := func() *scene { return newScene(3).sees("", 0, 1, 2) }
	guarded := func() *scene { return voting(3).at(roster.LeaseElecting, 0, 1, 2) }
	for _, test := range []struct {
		name  string
		scene *scene
		want  string
	}{
		{"one is a candidate", classic().hinders(unhealthy, 0, 1), "False/Electing"},
		{"none is", classic().hinders(unhealthy, 0, 1, 2), "False/NoCandidate"},
		{"Guarded: one is", guarded().hinders(unhealthy, 0, 1), "False/Electing"},
		{"Guarded: none is", guarded().hinders(unhealthy, 0, 1).hinders(closed, 2),
			"False/NoCandidate"},
		{"none is that reports", guarded().hinders(unhealthy, 0, 1).loses(2, time.Hour),
			"False/NoCandidate"},
		{"no majority reports", guarded().hinders(unhealthy, 0).loses(1, time.Hour).loses(2, time.Hour),
			"False/NoMajority"},
		{"none is, and they had reached no majority before",
			guarded().at(alone, 0, 1, 2).hinders(unhealthy, 0, 1, 2), "False/NoCandidate"},
		{"the lease of the last one runs",
			guarded().at(roster.LeaseWaiting, 0, 1).hinders(unhealthy, 0, 1, 2), "False/LeaseRunning"},
		{"one rests: it tries again by itself",
			guarded().hinders(unhealthy, 0, 1).hinders(resting, 2), "False/Electing"},
		{"one coordinates all the same",
			newScene(2).sees("p-1", 0, 1).hinders(unhealthy, 0, 1), "True/Elected"},
		{"agents that are too old to say why", classic(), "False/Electing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := electedIn(test.scene)
			if got := fmt.Sprintf("%s/%s", c.Status, c.Reason); got != test.want {
				t.Errorf("got %s (%s), want %s", got, c.Message, test.want)
			}
		})
	}
}

// The message names each process and its reason, up to a bound, and what to do about each reason.
func TestNoCandidateSaysWhatToDo(t *testing.T) {
	s := newScene(3).sees("", 0, 1, 2).hinders(roster.NotCandidateUnhealthy, 0).
		hinders(roster.NotCandidateNoSession, 1).hinders(roster.NotCandidateLeaving, 2)
	const want = "no process that reports is a candidate: p-0 (Unhealthy), p-1 (NoSession), " +
		"p-2 (Leaving). To have one elected, mend the unhealthy apps, or their health check; or " +
		"have the apps open their sessions with their agents; or wait for the pods that replace " +
		"those that are leaving"
	if got := electedIn(s).Message; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	many, all := newScene(20), make([]int, 20)
	for i := range all {
		all[i] = i
	}
	many.sees("", all...).hinders(roster.NotCandidateUnhealthy, all...)
	if got := electedIn(many).Message; !strings.Contains(got, "and 15 more.") {
		t.Errorf("got %s", got)
	}
	for _, r := range remedies {
		if !slices.Contains([]string{roster.NotCandidateUnhealthy, roster.NotCandidateNoSession,
			roster.NotCandidatePriorityZero, roster.NotCandidateLeaving}, string(r.reason)) &&
			r.reason != v1.NotCandidateSteppedDown && // the manager says these of a priority of 0
			r.reason != v1.NotCandidateWitness {
			t.Errorf("no agent reports %s", r.reason)
		}
	}
}

func electedIn(s *scene) metav1.Condition {
	for _, c := range decideStatus(s.observation, rosterDecision{}).status.Conditions {
		if c.Type == v1.ConditionCoordinatorElected {
			return c
		}
	}
	return metav1.Condition{}
}
