package membership

import (
	"testing"
	"time"
)

func TestFoundingWaitsForHealthyPods(t *testing.T) {
	s := newScene(3)
	if d := s.pass(); s.voters() != "" || d.Again != 0 {
		t.Fatalf("before anybody has joined: voters %q, again in %v", s.voters(), d.Again)
	}
	s.joins(0)
	if d := s.pass(); s.voters() != "" || d.Again != FoundWithin {
		t.Fatalf("one of three has joined: voters %q, again in %v", s.voters(), d.Again)
	}
	s.later(time.Second)
	s.joins(1)
	if d := s.pass(); s.voters() != "" || d.Again != FoundWithin-time.Second {
		t.Fatalf("two of three have joined: voters %q, again in %v", s.voters(), d.Again)
	}
	third := *s
	third.Reports = nil
	third.joins(0, 1, 2)
	if third.pass(); third.voters() != "p-0 p-1 p-2" {
		t.Errorf("all have joined: voters %q", third.voters())
	}
	s.later(2 * time.Second)
	if d := s.pass(); s.voters() != "p-0 p-1" || d.Why != Founded {
		t.Errorf("three seconds after the first: voters %q (%q)", s.voters(), d.Why)
	}
}

// A process that the spec names counts before its pod exists.
func TestFoundingWaitsForNames(t *testing.T) {
	s := newScene(3).joins(0, 1, 2)
	s.Named = []string{"p-0", "p-3"}
	if d := s.pass(); s.voters() != "" || d.Again != FoundWithin {
		t.Fatalf("one is missing: voters %q, again in %v", s.voters(), d.Again)
	}
	late := *s
	late.later(FoundWithin)
	if late.pass(); late.voters() != "p-0 p-1 p-2" {
		t.Errorf("three seconds after the first: voters %q", late.voters())
	}
	s.Pods = append(s.Pods, podNumber(3))
	s.joins(3)
	if s.pass(); s.voters() != "p-0 p-1 p-2 p-3" {
		t.Errorf("it has joined: voters %q", s.voters())
	}
}

// wiped loses the status and the manager's memory, and an operator says that there is no roster to
// adopt (MC10).
func (s *scene) wiped() {
	s.Adopt = AdoptRequest{Newest: s.Roster.Generation}
	s.Roster, s.state = nil, State{}
}

// The status was wiped and the manager has started anew: nobody knows who the voters were. But an
// agent knows an older roster, so somebody may still act by it: all have to leave it first, and
// then a lease has to pass.
func TestFoundingAnewWaitsForALease(t *testing.T) {
	s := voting(3)
	s.wiped()
	s.later(time.Hour)
	s.pass()
	if d := s.pass(); s.voters() != "" || d.Again == 0 {
		t.Fatalf("they use the old roster: voters %q, again in %v", s.voters(), d.Again)
	}
	s.acknowledge()
	if d := s.pass(); s.voters() != "" || d.Again != Outlast(second) {
		t.Fatalf("they have just left it: voters %q, again in %v", s.voters(), d.Again)
	}
	s.later(Outlast(second))
	if s.pass(); s.voters() != "p-0 p-1 p-2" {
		t.Errorf("a lease later: voters %q", s.voters())
	}
}

// So it is if all have left it before the manager looks again: agents take a roster within
// milliseconds.
func TestFoundingAnewWaitsForALeaseThoughAllAreQuick(t *testing.T) {
	for _, joined := range []int{3, 2} {
		s := voting(3)
		s.wiped()
		s.later(time.Hour)
		s.pass()
		s.acknowledge()
		want := Outlast(second)
		if joined == 2 {
			s.unseen("uid-2")
			want = refoundWithin
		}
		if d := s.pass(); s.voters() != "" || d.Again != want {
			t.Errorf("%d of 3 have joined: voters %q, again in %v, want %v", joined, s.voters(), d.Again, want)
		}
	}
}

// So it is while no roster can be persisted: an agent that used one of another group object is gone
// by now, and what it promised may still run. Nor does the wait for pods begin anew each time.
func TestFoundingWithoutARoster(t *testing.T) {
	s := newScene(2).joins(0)
	step := func() (d Decision) {
		s.state, d = Step(s.state, &s.Facts)
		return d
	}
	step()
	s.later(FoundWithin)
	if d := step(); votersOn(d.Roster) != "p-0" {
		t.Errorf("one of two has joined for long: voters %q", votersOn(d.Roster))
	}
	s = newScene(2).joins(0, 1)
	s.edit(1, func(r *Report) { r.Generation, r.OtherGroup = 7, true })
	step()
	s.edit(1, func(r *Report) { r.Generation, r.OtherGroup = 0, false })
	for range 2 {
		if d := step(); votersOn(d.Roster) != "" {
			t.Fatalf("it has just left that group: voters %q", votersOn(d.Roster))
		}
	}
	s.later(Outlast(second))
	if d := step(); votersOn(d.Roster) != "p-0 p-1" {
		t.Errorf("a lease later: voters %q", votersOn(d.Roster))
	}
}

// Nobody leaves the old roster, because the agents that use it are gone for good: the founding
// waits no longer than it must.
func TestFoundingAnewDoesNotWaitForEver(t *testing.T) {
	s := voting(3)
	s.wiped()
	s.later(time.Hour)
	s.pass()
	s.acknowledge()
	s.edit(2, func(r *Report) { r.Generation = 1 })
	if d := s.pass(); d.Again != refoundWithin+Outlast(second) {
		t.Fatalf("again in %v, want %v", d.Again, refoundWithin+Outlast(second))
	}
	s.later(refoundWithin + Outlast(second) - time.Millisecond)
	if s.pass(); s.voters() != "" {
		t.Fatalf("too early: voters %q", s.voters())
	}
	s.later(time.Millisecond)
	if s.pass(); s.voters() != "p-0 p-1 p-2" {
		t.Errorf("voters %q", s.voters())
	}
}

// The status was lost, and not all pods have joined again: that is waited for, but not for long.
func TestFoundingAnewWaitsForPods(t *testing.T) {
	s := voting(3)
	s.wiped()
	s.Lease, s.Settings = second/2, "shorter"
	s.later(time.Hour)
	s.loses(2, 0)
	s.edit(2, func(r *Report) { r.Generation = 0 })
	s.pass()
	s.pass()
	s.acknowledge()
	if d := s.pass(); s.voters() != "" || d.Again != refoundWithin {
		t.Fatalf("one pod has not joined: voters %q, again in %v", s.voters(), d.Again)
	}
	s.later(refoundWithin)
	if s.pass(); s.voters() != "p-0 p-1" {
		t.Errorf("ten seconds later: voters %q", s.voters())
	}
}

// Only a process whose agent can vote, and is to stay, becomes a voter.
func TestWhoMayBecomeAVoter(t *testing.T) {
	for name, what := range map[string]func(*scene){
		"its agent does not report":           func(s *scene) { s.unseen("uid-2") },
		"its agent is not connected":          func(s *scene) { s.loses(2, 0) },
		"its agent leaves":                    func(s *scene) { s.edit(2, func(r *Report) { r.Leaving = true }) },
		"it has not said its state directory": func(s *scene) { s.edit(2, func(r *Report) { r.StateID = "" }) },
		"its pod is being deleted":            func(s *scene) { s.deletes(2, s.Now, time.Minute) },
		"its pod has finished":                func(s *scene) { s.Pods[2].Finished = true },
	} {
		s := newScene(3).joins(0, 1, 2)
		what(s)
		s.pass()
		s.pass()
		s.later(FoundWithin)
		if s.pass(); s.voters() != "p-0 p-1" {
			t.Errorf("%s: voters %q", name, s.voters())
		}
	}
}
