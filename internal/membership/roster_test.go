package membership

import (
	"slices"
	"testing"
	"time"
)

func TestRingOrder(t *testing.T) {
	want := []string{"a-01", "a-1", "a-2", "a-10", "a-10-1", "a-10-b", "aa-1", "b"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, CompareNames)
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzRingOrderIsTotal(f *testing.F) {
	f.Add("a-1", "a-01", "a-10")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if CompareNames(a, b) != -CompareNames(b, a) || (CompareNames(a, b) == 0) != (a == b) {
			t.Errorf("%q and %q are not ordered", a, b)
		}
		if CompareNames(a, b) < 0 && CompareNames(b, c) < 0 && CompareNames(a, c) >= 0 {
			t.Errorf("%q < %q < %q, but not the first before the last", a, b, c)
		}
	})
}

func TestGeneration(t *testing.T) {
	day := int64(24 * 60 * 60)
	for _, test := range []struct {
		name string
		last *Roster
		now  time.Time
		want int64
	}{
		{"the first", nil, noon, 10 * day},
		{"a day after the last", &Roster{Generation: 9 * day}, noon, 10 * day},
		{"within the second", &Roster{Generation: 10 * day}, noon, 10*day + 1},
		{"more than one a second", &Roster{Generation: 11 * day}, noon, 11*day + 1},
		{"a clock before its time", nil, GenerationsBegin.Add(-time.Hour), 1},
	} {
		if got := NextGeneration(test.last, nil, test.now); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
	reports := []Report{{Generation: 10*day + 7}, {Generation: 1 << 40}} // the second is a lie
	if got := NextGeneration(nil, reports, noon); got != 10*day+8 {
		t.Errorf("made again while an agent uses a roster ahead of the clock: %d, want %d", got,
			10*day+8)
	}
}

// A group that is made again under its name begins above the generations of the deleted one: a
// resource may have seen its epochs.
func TestTheGenerationAfterADeletedGroup(t *testing.T) {
	s := newScene(3)
	s.After = int64(s.Now.Sub(GenerationsBegin)/time.Second) + 7200
	if s.pass(); s.Roster.Generation != s.After+1 {
		t.Errorf("generation %d after %d", s.Roster.Generation, s.After)
	}
}

// A roster gets a new generation when anything that agents must know has changed, and only then:
// also across a restart of the manager, for which the persisted record is all there is.
func TestGenerationGrowsWithEveryChange(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*scene)
		grows  bool
	}{
		{"nothing", func(*scene) {}, false},
		{"the manager restarts", func(s *scene) { s.state = State{} }, false},
		{"it knows no agent yet", func(s *scene) { s.state, s.Reports = State{}, nil }, false},
		{"a subscription is lost", func(s *scene) { s.loses(0, 0) }, false},
		{"another coordinator", func(s *scene) { s.edit(0, func(r *Report) { r.Coordinator = "p-1" }) }, false},
		{"a pod's address", func(s *scene) { s.Pods[0].Address = "10.0.0.99" }, true},
		{"a new pod of an old name", func(s *scene) { s.Pods[0].UID = "new" }, true},
		{"the same, and it has joined", func(s *scene) { s.Pods[0].UID = "new"; s.joins(0) }, true},
		{"a pod less", func(s *scene) { s.drop(2) }, true},
		{"a pod is on its way out", func(s *scene) { s.deletes(0, s.Now, second) }, true},
		{"a pod ends", func(s *scene) { s.Pods[0].Finished = true }, true},
		{"a priority", func(s *scene) { s.Pods[0].Priority = 9 }, true},
		{"the settings", func(s *scene) { s.Settings = "ring" }, true},
		{"too many pods: the last roster stays", func(s *scene) { s.Pods = newScene(101).Pods }, false},
		{"the status was wiped", func(s *scene) { s.Roster = nil }, true},
		{"the status was set back", func(s *scene) { s.Roster = &Roster{Generation: 1} }, true},
	} {
		for _, guarded := range []bool{true, false} {
			s := newScene(3).joins(0, 1, 2)
			s.Guarded = guarded
			s.pass()
			s.acknowledge()
			last := s.Roster
			s.later(time.Minute)
			s.pass()
			if s.Roster != last {
				t.Fatalf("after a minute there is another roster: %+v", s.Roster)
			}
			test.change(s)
			d := s.pass()
			if grows := d.Roster != nil && d.Roster.Generation > last.Generation; grows != test.grows {
				t.Errorf("%s (guarded: %v): %+v after %+v", test.name, guarded, d.Roster, last)
			}
			if !test.grows && d.Roster != nil && d.Roster.Generation != last.Generation {
				t.Errorf("%s (guarded: %v): generation %d after %d", test.name, guarded,
					d.Roster.Generation, last.Generation)
			}
		}
	}
}

// The roster records from which label a voter has its priority. A record alone makes no generation:
// agents are not told of it.
func TestLabelsOfVotersAreRecorded(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		s := newScene(3).joins(0, 1, 2)
		s.Guarded = guarded
		s.Pods = append(s.Pods, podNumber(3)) // does not join
		for i := range s.Pods {
			s.Pods[i].Label = "zone=a"
		}
		s.pass()
		s.later(4 * second) // it is not waited for
		s.pass()
		s.acknowledge()
		labels := func() (all []string) {
			for _, m := range s.Roster.Members {
				all = append(all, m.Label)
			}
			return all
		}
		if got, want := labels(), []string{"zone=a", "zone=a", "zone=a", ""}; !slices.Equal(got, want) {
			t.Errorf("guarded %v: recorded %q", guarded, got)
		}
		last := s.Roster.Generation
		s.Pods[0].Label = "pool=b"
		if d := s.pass(); !d.Persist || d.Roster.Generation != last {
			t.Errorf("guarded %v: another label: %+v after generation %d", guarded, d.Roster, last)
		}
		if got, want := labels(), []string{"pool=b", "zone=a", "zone=a", ""}; !slices.Equal(got, want) {
			t.Errorf("guarded %v: then recorded %q", guarded, got)
		}
	}
}

// A Classic group marks who has joined, and remembers it without reports.
func TestClassicMembers(t *testing.T) {
	s := newScene(4).joins(0, 1)
	s.Guarded = false
	s.Pods[3].Finished = true
	if d := s.pass(); told(d) != "p-0:1+ p-1:2+ p-2:3" || d.Roster.LongestLease != 0 {
		t.Fatalf("told %s", told(d))
	}
	s.edit(1, func(r *Report) { r.StateID = "other" })
	s.unseen("uid-0")
	if d := s.pass(); d.Persist || s.member(t, "p-0").StateID != "m" ||
		s.member(t, "p-1").StateID != "m" {
		t.Errorf("a state directory that changes makes no new roster: %+v", d.Roster)
	}
}

func TestForHowManyPodsThereIsARoster(t *testing.T) {
	if d := newScene(0).pass(); d.Roster != nil || d.Persist || d.TooMany != 0 {
		t.Errorf("got %+v", d)
	}
	crowd := newScene(MaxMembers + 1)
	crowd.Pods[0].Finished = true
	if d := crowd.pass(); d.TooMany != 0 || d.Roster == nil {
		t.Errorf("a pod too many has finished: %+v", d)
	}
	emptied := newScene(3)
	emptied.Guarded = false
	emptied.pass()
	emptied.drop(0)
	if d := emptied.pass(); !d.Persist || len(d.Roster.Members) != 0 {
		t.Errorf("a group that lost its pods: %+v, want an empty roster", d.Roster)
	}
}

// From its deletion on, a process has priority 0 for the agents, whatever becomes of its pod; it
// votes until it can be removed. The roster changes when the deletion begins, and not again before
// the voters do.
func TestADepartingProcessNeverCoordinates(t *testing.T) {
	s := voting(3)
	began := s.Roster.Generation
	steps := []struct {
		name  string
		do    func()
		want  string
		grows bool
	}{
		{"all healthy", func() {}, "p-0:1+ p-1:2+ p-2:3+", false},
		{
			"its deletion begins",
			func() {
				for i := range 3 { // the voters may not change yet
					s.edit(i, func(r *Report) { r.Generation = 0 })
				}
				s.state.acknowledged = time.Time{}
				s.deletes(2, s.Now, 30*second)
			},
			"p-0:1+ p-1:2+ p-2:0+",
			true,
		},
		{"nothing more", func() {}, "p-0:1+ p-1:2+ p-2:0+", false},
		{"its agent is silent", func() { s.loses(2, 0) }, "p-0:1+ p-1:2+ p-2:0+", false},
		{"the voters may change", func() { s.later(Outlast(2 * second)) }, "p-0:1+ p-1:2+ p-2:0", true},
		{"it is called Failed, as is a pod on a lost node", func() {
			s.Pods[2].Finished, s.Pods[2].Address = true, ""
		}, "p-0:1+ p-1:2+", true},
	}
	for _, step := range steps {
		s.later(time.Second)
		step.do()
		d := s.pass()
		if got := told(d); got != step.want || (d.Roster.Generation > began) != step.grows {
			t.Errorf("%s: generation %d after %d, %s; want %s, a new one: %v", step.name,
				d.Roster.Generation, began, got, step.want, step.grows)
		}
		began = d.Roster.Generation
		s.acknowledge()
	}
}

// Without a majority nobody is removed: a voter that is gone, without proof that it ended, still
// votes, with priority 0.
func TestAVoterWhosePodIsGoneNeverCoordinates(t *testing.T) {
	s := voting(3)
	s.loses(1, 0).loses(2, 0)
	s.Pods[1].Finished = true
	s.drop(2)
	if got, want := told(s.pass()), "p-0:1+ p-1:0+ p-2:0+"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
