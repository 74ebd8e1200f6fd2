package membership

import (
	"testing"
	"time"
)

// supporting has the agents of these pods support a newest rules level.
func (s *scene) supporting(newest int32, pods ...int) *scene {
	for _, i := range pods {
		s.edit(i, func(r *Report) { r.Rules = newest })
	}
	return s
}

// levelled returns a group of three voters that have used a roster of a rules level for long.
func levelled(of int32) *scene {
	s := newScene(3).joins(0, 1, 2)
	s.Rules = of
	s.supporting(of, 0, 1, 2).converges()
	return s
}

// converges has the agents take what the manager makes, until it makes nothing more.
func (s *scene) converges() {
	for range 10 {
		s.pass()
		s.acknowledge()
		s.pass()
		s.later(time.Minute)
	}
}

// MC11: the first voters get the lowest level of the manager and all that have joined; who does not
// support what comes of it is no voter.
func TestFirstRulesLevel(t *testing.T) {
	for _, test := range []struct {
		manager int32
		agents  [3]int32
		want    int32
		voters  string
	}{
		{0, [3]int32{}, 1, "p-0 p-1 p-2"},
		{1, [3]int32{0, 1, 2}, 1, "p-0 p-1 p-2"},
		{2, [3]int32{2, 2, 2}, 2, "p-0 p-1 p-2"},
		{2, [3]int32{2, 0, 2}, 1, "p-0 p-1 p-2"},
		{2, [3]int32{3, 2, 3}, 2, "p-0 p-1 p-2"},
		{2, [3]int32{3, 1, 2}, 1, "p-1 p-2"},
		{3, [3]int32{3, 1, 2}, 2, "p-0 p-2"},
	} {
		s := newScene(3).joins(0, 1, 2)
		s.Rules = test.manager
		for i, newest := range test.agents {
			s.supporting(newest, i)
		}
		for range 3 {
			s.pass()
			s.later(FoundWithin)
		}
		if s.Roster.Rules != test.want || s.voters() != test.voters {
			t.Errorf("manager %d, agents %v: level %d, voters %s", test.manager, test.agents,
				s.Roster.Rules, s.voters())
		}
	}
}

// MC11: where nobody votes or could, the level is what the roster says: an upgraded manager has
// nothing new to tell.
func TestRulesLevelOfNobody(t *testing.T) {
	s := voting(3)
	for i := range 3 {
		s.loses(i, 0)
		s.ends(s.Pods[i].UID)
	}
	s.pass()
	s.later(Outlast(second))
	if s.pass(); s.voters() != "" {
		t.Fatalf("voters %q", s.voters())
	}
	s.Rules = 2
	if d := s.pass(); d.Persist || s.Roster.Rules != 1 {
		t.Errorf("level %d: %+v", s.Roster.Rules, d)
	}
}

// MC11: the level changes by one, when the manager and every voter support the next one.
func TestNextRulesLevel(t *testing.T) {
	for _, test := range []struct {
		name    string
		begin   int32
		manager int32
		agents  [3]int32
		want    int32
	}{
		{"all are upgraded", 1, 2, [3]int32{2, 2, 2}, 2},
		{"one voter is not", 1, 2, [3]int32{2, 2, 1}, 1},
		{"the manager is not", 1, 1, [3]int32{2, 2, 2}, 1},
		{"the manager alone is", 1, 2, [3]int32{}, 1},
		{"one is rolled back", 2, 2, [3]int32{2, 1, 2}, 1},
		{"all are rolled back", 2, 2, [3]int32{1, 1, 1}, 1},
		{"one is rolled back, another is ahead", 2, 2, [3]int32{3, 1, 2}, 2},
		{"the manager does not support that level", 2, 3, [3]int32{2, 1, 2}, 2},
		{"voters are two ahead", 1, 1, [3]int32{3, 3, 3}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := levelled(test.begin)
			s.Rules = test.manager
			for i, newest := range test.agents {
				s.supporting(newest, i)
			}
			before, steps := s.Roster, 0
			for range 10 {
				if d := s.pass(); d.Persist {
					steps++
					if d.Why != LevelChanged || d.Roster.Generation <= before.Generation || s.voters() != "p-0 p-1 p-2" {
						t.Fatalf("%s: %+v", d.Why, d.Roster)
					}
				}
				s.acknowledge()
				s.later(time.Minute)
			}
			if s.Roster.Rules != test.want || (steps > 0) != (test.want != test.begin) {
				t.Errorf("level %d after %d changes, want %d", s.Roster.Rules, steps, test.want)
			}
		})
	}
}

// MC11: a voter that does not report, or reports from another state directory, supports nothing.
func TestSilentVoterHoldsTheRulesLevel(t *testing.T) {
	for _, hide := range []func(*scene){
		func(s *scene) { s.loses(2, time.Second) },
		func(s *scene) { s.edit(2, func(r *Report) { r.StateID = "another" }) },
		func(s *scene) { s.unseen(s.Pods[2].UID) },
	} {
		s := levelled(1)
		s.Rules = 2
		s.supporting(2, 0, 1, 2)
		hide(s)
		s.pass()
		if s.Roster.Rules != 1 {
			t.Errorf("level %d with a voter of which nothing is known", s.Roster.Rules)
		}
	}
}

// MC11: the level waits for MC4, and so does what comes after it: two longest leases after a
// majority has acknowledged. Until then no voter comes, and no other level.
func TestRulesLevelWaits(t *testing.T) {
	s := levelled(1)
	s.Rules = 2
	s.supporting(2, 0, 1, 2)
	if d := s.pass(); d.Why != LevelChanged || s.Roster.Rules != 2 {
		t.Fatalf("%s: level %d", d.Why, s.Roster.Rules)
	}
	s.Pods = append(s.Pods, podNumber(3))
	s.joins(3).supporting(2, 3)
	s.supporting(1, 0)
	changes := func() bool {
		d := s.pass()
		return d.Why == LevelChanged || d.Why == VoterJoined
	}
	s.later(time.Hour)
	if changes() {
		t.Fatal("a change before the new level was acknowledged")
	}
	s.acknowledge()
	changes()
	s.later(Outlast(2*second) - time.Millisecond)
	if changes() {
		t.Fatal("a change before two leases have passed")
	}
	s.later(time.Millisecond)
	if d := s.pass(); d.Why != VoterJoined || s.Roster.Rules != 2 {
		t.Fatalf("first the voter: %s, level %d", d.Why, s.Roster.Rules)
	}
	s.acknowledge()
	d := s.pass()
	if changes() || d.Again != Outlast(2*second) {
		t.Fatalf("a change of level with one of voters, or not woken in time: %v", d.Again)
	}
	s.later(d.Again)
	if d := s.pass(); d.Why != LevelChanged || s.Roster.Rules != 1 {
		t.Fatalf("then the level: %s, level %d", d.Why, s.Roster.Rules)
	}
}

// MC11: who does not support the level in force does not become a voter before it is another one.
func TestNewcomerOfAnotherRulesLevel(t *testing.T) {
	s := levelled(2)
	s.Pods = append(s.Pods, podNumber(3))
	s.joins(3).supporting(1, 3)
	if d := s.pass(); d.Why != LevelChanged || s.voters() != "p-0 p-1 p-2" || s.Roster.Rules != 1 {
		t.Fatalf("%s: level %d, voters %s", d.Why, s.Roster.Rules, s.voters())
	}
	s.converges()
	if s.voters() != "p-0 p-1 p-2 p-3" {
		t.Fatalf("voters %s", s.voters())
	}
	s = levelled(1)
	s.Pods = append(s.Pods, podNumber(3))
	s.joins(3).supporting(3, 3)
	s.converges()
	if s.Roster.Rules != 1 || s.voters() != "p-0 p-1 p-2" {
		t.Fatalf("level %d, voters %s", s.Roster.Rules, s.voters())
	}
}

// MC11: a manager that does not support the level in force makes no roster, whatever happens, and
// its successor that does goes on.
func TestManagerOfAnotherRulesLevel(t *testing.T) {
	for _, newest := range []int32{1, 4} {
		s := levelled(2)
		s.state, s.Rules = State{}, newest
		s.supporting(newest, 0, 1, 2)
		s.Pods[0].Address = "10.0.0.99:4041"
		s.ends(s.Pods[1].UID)
		s.drop(2)
		for range 3 {
			if d := s.pass(); d.Roster != nil || d.Persist || d.Unsupported != 2 {
				t.Fatalf("newest %d: %+v", newest, d)
			}
			s.later(time.Hour)
		}
		s.Rules = 2
		if d := s.pass(); d.Roster == nil || d.Unsupported != 0 {
			t.Fatalf("a manager that supports it: %+v", d)
		}
	}
}

// MC11: a voter that reports, and does not support the level in force, can acknowledge nothing, so
// it carries no change of voters (MC6).
func TestVoterOfAnotherRulesLevelCarriesNothing(t *testing.T) {
	s := levelled(2)
	s.supporting(1, 2)
	s.Pods = append(s.Pods[:1:1], s.Pods[2])
	s.report("uid-1").Connected = false
	if d := s.pass(); s.voters() != "p-0 p-1 p-2" || s.Roster.Rules != 2 {
		t.Errorf("%s: voters %s, level %d", d.Why, s.voters(), s.Roster.Rules)
	}
	s.supporting(2, 1)
	if d := s.pass(); d.Why != VoterMissing || s.voters() != "p-0 p-2" {
		t.Errorf("%s: voters %s", d.Why, s.voters())
	}
}
