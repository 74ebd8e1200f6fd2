package membership

import (
	"testing"
	"time"
)

// setBack loses the manager's memory, and puts an older roster into the status, with these voters.
func setBack(s *scene, voters ...int) (newest *Roster) {
	newest = s.Roster
	older := &Roster{Generation: newest.Generation - 5, Digest: "older", LongestLease: second}
	for _, i := range voters {
		older.Members = append(older.Members, Member{
			Name:    podNumber(i).Name,
			UID:     podNumber(i).UID,
			StateID: "m",
			Voter:   true,
		})
	}
	s.Roster, s.state = older, State{}
	s.Begun, s.Inherited = s.Now, true
	return newest
}

// MC10: the voters in a restored status are not those that may act. Nothing changes, however long
// it takes, until the newest roster that agents hold is known and a majority of its voters report.
func TestStatusSetBack(t *testing.T) {
	s := voting(5)
	newest := setBack(s, 0, 1)
	s.edit(0, func(r *Report) { r.Generation = s.Roster.Generation }) // it has not heard of any later one
	s.loses(3, 0).loses(4, 0)
	s.Pods[0].Address = "10.0.0.99" // which would make a new generation
	for range 3 {
		if d := s.pass(); d.Roster != nil || d.Persist || d.SetBack != newest.Generation {
			t.Fatalf("agents use %d, the status has %d: %+v", newest.Generation,
				s.Roster.Generation, d)
		}
		s.later(time.Hour)
	}
	s.Held = newest
	third := *s.report("uid-2")
	for name, edit := range map[string]func(*Report){
		"has another state directory": func(r *Report) { r.StateID = "another" },
		"is in another group object":  func(r *Report) { r.OtherGroup = true },
		"has no roster yet":           func(r *Report) { r.Generation = 0 },
		"is not connected":            func(r *Report) { r.Connected = false },
	} {
		s.edit(2, edit)
		if d := s.pass(); d.SetBack != newest.Generation {
			t.Fatalf("of its five voters two report, and the pod of a third %s: %+v", name, d)
		}
		s.set(third)
	}
	s.edit(2, func(r *Report) { r.StateID = "another" })
	s.edit(3, func(r *Report) { r.Connected = true })
	d := s.pass()
	if !d.Persist || d.SetBack != 0 || d.Why != RosterLost ||
		d.Roster.Generation <= newest.Generation || s.voters() != "p-0 p-1 p-2 p-3 p-4" {
		t.Errorf("three of its five voters report: %+v, voters %q", d, s.voters())
	}
}

// A majority of a roster's voters is not enough while anybody uses a newer one.
func TestANewerRosterIsNotPassedOver(t *testing.T) {
	s := voting(5)
	s.Held = setBack(s, 0)
	s.edit(4, func(r *Report) { r.Generation++ })
	if d := s.pass(); d.SetBack != s.Held.Generation+1 || d.Persist {
		t.Errorf("one of five uses a newer roster than was shown: %+v", d)
	}
}

// An agent that has gone away has told of the newer roster all the same.
func TestStatusSetBackIsRemembered(t *testing.T) {
	s := voting(3)
	newest := setBack(s, 0)
	s.pass()
	s.unseen("uid-0")
	s.unseen("uid-1")
	s.unseen("uid-2")
	s.later(time.Hour)
	if d := s.pass(); d.SetBack != newest.Generation || d.Persist {
		t.Errorf("nobody reports the newer roster any more: %+v", d)
	}
	s.Roster = newest // somebody has restored what was there
	if d := s.pass(); d.SetBack != 0 || d.Persist {
		t.Errorf("the newer roster is in the status again: %+v", d)
	}
}

// An operator may adopt the newest roster that agents hold, or the one in the status, and means
// what he has seen.
func TestOperatorAdopts(t *testing.T) {
	for name, c := range map[string]struct {
		request func(held, status, newest int64) AdoptRequest
		voters  string // of the next roster; "": there is none
	}{
		"nothing": {func(_, _, _ int64) AdoptRequest { return AdoptRequest{} }, ""},
		"what agents hold": {
			func(held, _, newest int64) AdoptRequest { return AdoptRequest{held, newest} },
			"p-0 p-1 p-2",
		},
		"what is in the status": {
			func(_, status, newest int64) AdoptRequest { return AdoptRequest{status, newest} },
			"p-0",
		},
		"another": {func(held, _, newest int64) AdoptRequest { return AdoptRequest{held - 1, newest} }, ""},
		"before a newer one was reported": {
			func(held, _, newest int64) AdoptRequest { return AdoptRequest{held, newest - 1} },
			"",
		},
	} {
		s := voting(3)
		s.Held = setBack(s, 0)
		s.unseen("uid-0")
		s.unseen("uid-1")
		// it holds one that it has not shown, ahead of the clock
		s.edit(2, func(r *Report) { r.Generation += 1800 })
		newest := s.report("uid-2").Generation
		s.Adopt = c.request(s.Held.Generation, s.Roster.Generation, newest)
		d := s.pass()
		if c.voters == "" {
			if d.SetBack != newest || d.Persist {
				t.Errorf("%s: %+v", name, d)
			}
			continue
		}
		if s.voters() != c.voters || d.Roster.Generation <= newest {
			t.Errorf("%s: generation %d after %d, voters %q", name, d.Roster.Generation, newest,
				s.voters())
		}
		s.Roster.Generation-- // the word counted for what was reported then
		s.state = State{}
		if d := s.pass(); d.SetBack == 0 && s.report("uid-2").Generation > s.Roster.Generation {
			t.Errorf("%s: it counts again: %+v", name, d)
		}
	}
}

// Agents may show a roster that is even older than the status: that is no choice.
func TestAnOlderRosterIsNotAdopted(t *testing.T) {
	s := voting(3)
	newest, older := setBack(s, 0), *s.Roster
	older.Generation--
	s.Held, s.Adopt = &older, AdoptRequest{Generation: older.Generation, Newest: newest.Generation}
	if d := s.pass(); d.SetBack != newest.Generation || d.Persist {
		t.Errorf("%+v", d)
	}
}

// Generations are numbered by the API server's clock. A manager whose own was two days ahead used
// to make some that the next manager took for lies when the status was set back, so nobody led for
// ever.
func TestGenerationsByTheAPIServersClock(t *testing.T) {
	for name, off := range map[string]time.Duration{"ahead": 48 * time.Hour, "behind": -48 * time.Hour} {
		s := voting(3)
		before := s.Roster.Generation
		s.Date, s.Now, s.ClockAgrees = s.Now, s.Now.Add(off), false
		s.Settings = "ring"
		s.pass()
		if g := s.Roster.Generation; g <= before || g > before+60 {
			t.Errorf("%s: generation %d after %d", name, g, before)
		}
		s.edit(0, func(r *Report) { r.Generation = s.Roster.Generation + 10 })
		if d := s.pass(); d.SetBack == 0 {
			t.Errorf("%s: it takes a newer generation for a lie", name)
		}
		s.edit(0, func(r *Report) { r.Generation = s.Roster.Generation + 2*3600 })
		s.state = State{}
		if d := s.pass(); d.SetBack != 0 {
			t.Errorf("%s: it believes a lie: %+v", name, d)
		}
	}
}

// What an agent reports of another group object, or of the far future, sets nothing back.
func TestReportsThatSetNothingBack(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*Report)
		wall bool
		back bool
	}{
		"of this group":               {func(r *Report) { r.Generation += 10 }, true, true},
		"of another group object":     {func(r *Report) { r.Generation, r.OtherGroup = r.Generation+10, true }, true, false},
		"of the far future":           {func(r *Report) { r.Generation = 1 << 32 }, true, false},
		"while the clock is not sure": {func(r *Report) { r.Generation = 1 << 32 }, false, true},
	} {
		s := voting(3)
		s.state, s.ClockAgrees = State{}, c.wall
		s.edit(0, c.edit)
		if d := s.pass(); (d.SetBack != 0) != c.back {
			t.Errorf("%s: %+v", name, d)
		}
	}
	classic := voting(3)
	classic.Guarded, classic.state = false, State{}
	classic.edit(0, func(r *Report) { r.Generation += 10 })
	if d := classic.pass(); d.SetBack != 0 {
		t.Errorf("a Classic group has no voters whose majority matters: %+v", d)
	}
}

// A manager that starts makes no new roster before the agents have had time to tell of a newer one.
func TestNewManagerWaitsForReports(t *testing.T) {
	s := voting(3)
	s.Reports, s.state = nil, State{}
	s.Begun, s.Inherited = s.Now, true
	if d := s.pass(); d.Roster == nil || d.Persist {
		t.Errorf("nothing has changed: %+v; want the roster in the status", d)
	}
	s.Pods[0].Address = "10.0.0.99"
	s.later(time.Second)
	if d := s.pass(); d.Roster != nil || d.Again != returnWithin-time.Second {
		t.Fatalf("nobody has reported: %+v", d)
	}
	one := *s
	one.joins(0, 1)
	if d := one.pass(); !d.Persist {
		t.Errorf("a majority has reported: %+v", d)
	}
	s.joins(0)
	if d := s.pass(); d.Roster != nil {
		t.Errorf("one of three has reported: %+v", d)
	}
	s.joins(1)
	s.edit(1, func(r *Report) { r.StateID = "another" })
	if d := s.pass(); d.Roster != nil {
		t.Errorf("one of three has reported, and the pod of another with a new state directory: %+v", d)
	}
	s.later(returnWithin)
	if d := s.pass(); !d.Persist {
		t.Errorf("%v have passed: %+v", returnWithin, d)
	}
}

// It is not known whether an inherited group without a roster had one: the first one waits for the
// agents of all healthy pods.
func TestFirstRosterOfAnInheritedGroup(t *testing.T) {
	s := newScene(2)
	s.Inherited, s.Begun = true, s.Now.Add(-time.Second)
	s.joins(0)
	if d := s.pass(); d.Roster != nil || d.Again == 0 {
		t.Fatalf("one has not reported: roster %+v, again in %v", d.Roster, d.Again)
	}
	late := *s
	late.later(returnWithin)
	if d := late.pass(); d.Roster == nil {
		t.Errorf("%v later there is no roster", returnWithin)
	}
	all := *s
	all.joins(1)
	if d := all.pass(); d.Roster != nil {
		t.Errorf("a lease has not passed: %+v", d)
	}
	all.later(Outlast(second))
	if d := all.pass(); d.Roster == nil {
		t.Errorf("all have reported: %+v", d)
	}
	all.deletes(1, all.Now, time.Minute)
	all.unseen("uid-1")
	all.state, all.Roster = State{}, nil
	if d := all.pass(); d.Roster != nil {
		t.Errorf("a pod that is being deleted has not reported: %+v", d)
	}
	classic := newScene(2)
	classic.Guarded, classic.Inherited, classic.Begun = false, true, classic.Now
	if classic.pass().Roster == nil {
		t.Error("a Classic group waits")
	}
}

// The status is set back, and so is the API server's clock, so the generation that agents report is
// an hour ahead of it. A manager that takes over waits until they have shown their roster, and
// believes what a manager signed. It used to take the generation for a lie, and made rosters with
// the voters of the older one.
func TestASignedGenerationCountsAtAnyDistance(t *testing.T) {
	s := voting(5)
	newest := setBack(s, 0, 1)
	s.Date = s.Now.Add(-2 * time.Hour)
	s.Pods[0].Address = "10.0.0.99" // which would make a new generation
	if d := s.pass(); d.Persist || d.SetBack != newest.Generation || d.Again != returnWithin {
		t.Fatalf("nobody has shown a roster yet: %+v", d)
	}
	s.Held = newest
	if d := s.pass(); !d.Persist || d.Why != RosterLost || s.voters() != "p-0 p-1 p-2 p-3 p-4" ||
		d.Roster.Generation <= newest.Generation {
		t.Errorf("it is shown, as a manager signed it: %+v, voters %q", d, s.voters())
	}

	liar := voting(5)
	setBack(liar, 0, 1, 2, 3, 4)
	for i := range 5 {
		liar.edit(i, func(r *Report) { r.Generation = liar.Roster.Generation })
	}
	liar.edit(4, func(r *Report) { r.Generation = 1 << 32 })
	liar.Pods[0].Address = "10.0.0.99"
	if d := liar.pass(); d.Persist || d.Again != returnWithin {
		t.Fatalf("one claims a generation of the far future: %+v", d)
	}
	liar.later(returnWithin)
	if d := liar.pass(); !d.Persist || d.SetBack != 0 {
		t.Errorf("it has shown nothing: %+v", d)
	}
}
