package membership

import (
	"fmt"
	"testing"
	"time"
)

// asked returns a group of voters of which p-2 coordinates under epoch 7, and an operator who saw
// that and asks that it step down.
func asked() *scene {
	s := voting(3)
	s.coordinates(2, 7)
	s.StepDown = StepDownRequest{
		ID:         "a",
		Generation: s.Roster.Generation,
		Process:    s.identity(2),
		Epoch:      7,
	}
	return s
}

func (s *scene) identity(pod int) Identity {
	return Identity{Name: s.Pods[pod].Name, UID: s.Pods[pod].UID}
}

// coordinates has the manager know who coordinates.
func (s *scene) coordinates(pod int, epoch int64) {
	s.Coordinator = Coordinator{Identity: s.identity(pod), Epoch: epoch}
}

// priorities are those on a roster, in ring order.
func priorities(r *Roster) string {
	var all []int32
	for _, m := range r.Members {
		all = append(all, m.Priority)
	}
	return fmt.Sprint(all)
}

// wants fails unless the persisted roster records that outcome and has these priorities.
func (s *scene) wants(t *testing.T, outcome Outcome, want string) {
	t.Helper()
	got := Outcome("")
	if w := s.Roster.StepDown; w != nil {
		got = w.Outcome
	}
	if all := priorities(s.Roster); got != outcome || all != want {
		t.Errorf("%q with %s, want %q with %s", got, all, outcome, want)
	}
}

// A request stands until another process coordinates. It makes two rosters, with the voters of
// before, and works once though the annotation stays.
func TestStepDown(t *testing.T) {
	s := asked()
	before, voters := s.Roster.Generation, s.voters()
	if d := s.pass(); !d.Persist || d.Roster.Generation <= before {
		t.Fatalf("no new roster: %+v", d)
	}
	s.wants(t, Standing, "[1 2 0]")
	if d := s.pass(); d.Persist || d.Again != Outlast(second)+tookOverWithin {
		t.Errorf("persist %v, again after %v", d.Persist, d.Again)
	}
	s.Coordinator = Coordinator{}
	s.later(second)
	if d := s.pass(); d.Persist {
		t.Errorf("the hand-over takes its time, and there is another roster: %+v", d.Roster)
	}
	s.coordinates(1, 8)
	s.pass()
	s.wants(t, HandedOver, "[1 2 3]")
	after := s.Roster.Generation
	s.coordinates(2, 9)
	for range 3 {
		s.later(time.Minute)
		s.pass()
	}
	s.wants(t, HandedOver, "[1 2 3]")
	if s.Roster.Generation != after || s.voters() != voters {
		t.Errorf("generation %d after %d, voters %s", s.Roster.Generation, after, s.voters())
	}
}

// Whom the operator did not mean is not moved, and a group that has nobody else is left alone.
func TestStepDownRefused(t *testing.T) {
	to := func(pod int, unfit func(*scene)) func(*scene) {
		return func(s *scene) { unfit(s); s.StepDown.To = s.identity(pod) }
	}
	named := func(who Identity) func(*scene) { return func(s *scene) { s.StepDown.To = who } }
	well := func(*scene) {}
	for name, test := range map[string]struct {
		change func(*scene)
		want   Outcome // empty: it waits
	}{
		"another roster since":         {func(s *scene) { s.StepDown.Generation-- }, Outdated},
		"a roster not seen yet":        {func(s *scene) { s.StepDown.Generation++ }, ""},
		"another coordinator since":    {func(s *scene) { s.coordinates(1, 8) }, Outdated},
		"another epoch since":          {func(s *scene) { s.coordinates(2, 8) }, Outdated},
		"another pod of the name":      {func(s *scene) { s.Coordinator.UID = "other" }, Outdated},
		"an epoch not seen yet":        {func(s *scene) { s.coordinates(2, 6) }, ""},
		"nobody is known":              {func(s *scene) { s.Coordinator = Coordinator{} }, ""},
		"the others are unhealthy":     {func(s *scene) { s.unfit(0); s.unfit(1) }, NobodyElse},
		"the others are silent":        {func(s *scene) { s.loses(0, 1).loses(1, 1) }, NobodyElse},
		"the others have priority 0":   {func(s *scene) { s.zero(0, 1) }, NobodyElse},
		"the successor is unhealthy":   {to(0, func(s *scene) { s.unfit(0) }), SuccessorUnfit},
		"the successor is silent":      {to(0, func(s *scene) { s.loses(0, second) }), SuccessorUnfit},
		"the successor has priority 0": {to(0, func(s *scene) { s.zero(0) }), SuccessorUnfit},
		"the successor is itself":      {to(2, well), SuccessorUnfit},
		"the successor is another pod": {named(Identity{Name: "p-0", UID: "other"}), SuccessorUnfit},
		"the successor has a new name": {named(Identity{Name: "p-9", UID: "uid-0"}), SuccessorUnfit},
		"the successor does not exist": {named(Identity{Name: "p-9", UID: "uid-9"}), SuccessorUnfit},
	} {
		t.Run(name, func(t *testing.T) {
			s := asked()
			test.change(s)
			before := priorities(s.Roster)
			generation := s.Roster.Generation
			s.pass()
			s.wants(t, test.want, before)
			if s.Roster.Generation != generation {
				t.Errorf("generation %d after %d", s.Roster.Generation, generation)
			}
			s.coordinates(2, 7) // a request that was refused stays refused
			if test.want != "" {
				s.pass()
				s.wants(t, test.want, before)
			}
		})
	}
}

// unfit has a pod's agent report that it is no candidate.
func (s *scene) unfit(pod int) { s.edit(pod, func(r *Report) { r.NotCandidate = true }) }

// zero gives pods priority 0, which the operator saw.
func (s *scene) zero(pods ...int) {
	for _, i := range pods {
		s.Pods[i].Priority = 0
	}
	s.repeat()
}

// repeat has the roster tell what is so now, and the operator see it.
func (s *scene) repeat() {
	asked := s.StepDown
	s.StepDown = StepDownRequest{}
	s.pass()
	s.StepDown = asked
	s.StepDown.Generation = s.Roster.Generation
}

// A process that is about to end is no successor. (The voters change for it, too.)
func TestStepDownToOneThatLeaves(t *testing.T) {
	s := asked()
	s.edit(0, func(r *Report) { r.Leaving = true })
	s.StepDown.To = s.identity(0)
	if w := s.pass().Roster.StepDown; w == nil || w.Outcome != SuccessorUnfit {
		t.Errorf("%+v", w)
	}
}

// With a time, a request stands for that time, whoever coordinates, and the next pod of the name
// stands aside, too.
func TestStepDownFor(t *testing.T) {
	s := asked()
	s.StepDown.For = 10 * time.Minute
	s.pass()
	s.wants(t, Standing, "[1 2 0]")
	if until := s.Roster.StepDown.Until; !until.Equal(s.Now.Add(10 * time.Minute)) {
		t.Errorf("until %v, now it is %v", until, s.Now)
	}
	s.coordinates(1, 8)
	s.later(9 * time.Minute)
	s.Pods[2].UID = "uid-of-the-next-pod"
	s.pass()
	for _, m := range s.Roster.Members {
		if m.Name == "p-2" && m.Priority != 0 {
			t.Errorf("p-2 has priority %d", m.Priority)
		}
	}
	if w := s.Roster.StepDown; w.Outcome != Standing {
		t.Errorf("after nine minutes: %v", w)
	}
	s.later(time.Minute)
	s.pass()
	if w := s.Roster.StepDown; w.Outcome != TimeOver {
		t.Errorf("after ten minutes: %v", w)
	}
}

// A request has an end whatever the clock shows, and whatever was asked for.
func TestStepDownEndsByAnyClock(t *testing.T) {
	s := asked()
	s.StepDown.For = 100 * 24 * time.Hour
	s.pass()
	if until := s.Roster.StepDown.Until; until.After(s.Now.Add(MaxStepDown)) {
		t.Errorf("until %v, now it is %v", until, s.Now)
	}
	s.coordinates(1, 8)
	s.pass()
	s.wants(t, Standing, "[1 2 0]")
	s.later(-time.Hour) // of another manager, say
	s.state = State{}
	s.pass()
	s.wants(t, Standing, "[1 2 0]")
	s.later(-time.Minute)
	s.pass()
	s.wants(t, TimeOver, "[1 2 3]")
}

// Maintenance does not leave a group without a coordinator: neither if nobody takes over, nor if
// the one that did fails, be the manager another one or not.
func TestStepDownThatNobodyTakesUp(t *testing.T) {
	within := Outlast(second) + tookOverWithin
	s := asked()
	s.StepDown.For = time.Hour
	s.pass()
	s.later(within - 1)
	s.pass()
	s.wants(t, Standing, "[1 2 0]")
	s.coordinates(1, 8)
	s.pass()
	s.later(time.Minute)
	s.pass()
	s.Coordinator = Coordinator{}
	s.pass()
	s.state = State{} // another manager
	s.pass()
	s.later(within - 1)
	if d := s.pass(); d.Again != 1 {
		t.Errorf("again after %v", d.Again)
	}
	s.wants(t, Standing, "[1 2 0]")
	s.later(1)
	s.pass()
	s.wants(t, NobodyTookOver, "[1 2 3]")
}

// Nor does the time begin anew when the voters change meanwhile.
func TestStepDownWhileVotersChange(t *testing.T) {
	s := asked()
	s.StepDown.For = time.Hour
	s.pass()
	s.acknowledge()
	s.later(tookOverWithin - 1)
	s.loses(0, 0)
	s.ends("uid-0")
	s.pass()
	s.later(Outlast(second))
	if s.pass(); s.voters() != "p-1 p-2" {
		t.Fatalf("voters %q", s.voters())
	}
	s.later(1)
	s.pass()
	s.wants(t, NobodyTookOver, "[1 2 3]")
}

// Time without another coordinator does not count from one request to the next.
func TestStepDownAfterAnother(t *testing.T) {
	s := asked()
	s.pass()
	s.later(Outlast(second) + tookOverWithin - 1)
	s.StepDown.ID, s.StepDown.Generation = "b", s.Roster.Generation
	s.pass()
	s.later(second)
	s.pass()
	if w := s.Roster.StepDown; w.ID != "b" || w.Outcome != Standing {
		t.Errorf("%+v", w)
	}
}

// Whoever removes the annotation takes the request back, and one that is put back is out of date.
func TestStepDownTakenBack(t *testing.T) {
	s := asked()
	asked := s.StepDown
	s.StepDown.For = time.Hour
	s.pass()
	s.StepDown = StepDownRequest{}
	s.pass()
	s.wants(t, "", "[1 2 3]")
	s.StepDown = asked
	s.pass()
	s.wants(t, Outdated, "[1 2 3]")
}

// The successor ranks above all others while the request stands, also above those with the highest
// priority there is. Who never coordinates does not begin to.
func TestStepDownTo(t *testing.T) {
	s := asked()
	s.Pods[1].Priority = MaxPriority
	s.Pods = append(s.Pods, podNumber(3))
	s.Pods[3].Priority = 0
	s.repeat()
	s.StepDown.To = s.identity(0)
	s.pass()
	s.wants(t, Standing, fmt.Sprintf("[%d %d 0 0]", MaxPriority, MaxPriority-1))
	s.coordinates(0, 8)
	s.pass()
	s.wants(t, HandedOver, fmt.Sprintf("[1 %d 3 0]", MaxPriority))
}

// A successor whose pod is deleted after all does not coordinate (MC8).
func TestStepDownToAPodThatIsDeleted(t *testing.T) {
	s := asked()
	s.StepDown.To = s.identity(0)
	s.pass()
	s.Pods[0].DeletionBegan, s.Pods[0].DeletionDue = s.Now, s.Now.Add(time.Minute)
	s.pass()
	s.wants(t, Standing, "[0 2 0]")
}

// A manager that dies after it persisted a request is followed by one that tells the agents the
// same.
func TestStepDownSurvivesTheManager(t *testing.T) {
	s := asked()
	told := s.pass().Roster
	s.state = State{}
	d := s.pass()
	if d.Persist || d.Roster.Generation != told.Generation || priorities(d.Roster) != "[1 2 0]" {
		t.Errorf("persist %v, generation %d after %d, %s", d.Persist, d.Roster.Generation,
			told.Generation, priorities(d.Roster))
	}
}

// A Classic group has no epochs.
func TestStepDownInAClassicGroup(t *testing.T) {
	s := newScene(3)
	s.Guarded = false
	s.joins(0, 1, 2)
	s.pass()
	s.coordinates(2, 0)
	s.StepDown = StepDownRequest{ID: "a", Generation: s.Roster.Generation, Process: s.identity(2)}
	s.pass()
	s.wants(t, Standing, "[1 2 0]")
	s.coordinates(1, 0)
	s.pass()
	s.wants(t, HandedOver, "[1 2 3]")
}
